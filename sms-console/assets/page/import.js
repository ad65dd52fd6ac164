// Importing contacts from a CSV file: choose the file, say which column is what, look at a sample,
// import in portions, and read which rows failed.
//
// Each portion has an idempotency key of its own, made from the import's key and the place, so that
// an import that a reload interrupted goes on when the same file is chosen again, and no portion
// is done twice.

import { everything, newKey, post } from '../api.js';
import { csvRead, csvWrite } from '../csv.js';
import { draftDrop, draftRead, draftWrite } from '../draft.js';
import { h, replace } from '../dom.js';
import { counted, whole } from '../format.js';
import { button, linkButton } from '../part/button.js';
import { field } from '../part/field.js';
import { head } from '../part/head.js';
import { errorNotice, notice } from '../part/notice.js';
import { progress } from '../part/progress.js';
import { stat, stats } from '../part/stat.js';
import { table } from '../part/table.js';
import { reload } from '../router.js';

/** @typedef {{name: string, rows: string[][], header: string[]}} File_ */
/** @typedef {{created: number, updated: number, unchanged: number, invalid: number,
 *   added: number, bad: {line: number, cells: string[], error: string}[]}} Report */
/** @typedef {{name: string, mark: string, key: string, done: number, report: Report,
 *   columns: string[], list: string}} Interrupted */

const PORTION = 1000;
const NAME = 'import';
const KNOWN = [
  { value: '', label: 'Leave out' }, { value: 'phone', label: 'Mobile number' },
  { value: 'first_name', label: 'First name' }, { value: 'last_name', label: 'Last name' },
  { value: 'email', label: 'Email' }, { value: 'notes', label: 'Notes' },
];
/** @type {[RegExp, string][]} */
const GUESSES = [
  [/phone|mobile|number|tel|msisdn/i, 'phone'], [/first|given|forename/i, 'first_name'],
  [/last|sur|family/i, 'last_name'], [/mail/i, 'email'], [/note|comment/i, 'notes'],
];

/** @param {import('../router.js').View} view @returns {Promise<import('../router.js').Page>} */
export async function page({ url, signal }) {
  const lists = await everything('/v1/lists');
  const body = h('div', { class: 'stack' });
  showChoice(body, lists, url.searchParams.get('list') ?? '', signal);
  return {
    title: 'Import contacts',
    content: [
      head('Import contacts', {
        back: ['Contacts', '/console/contacts'],
        lead: 'A number that is a contact already is updated; empty cells leave it as it is.',
      }),
      body,
    ],
  };
}

/**
 * @param {HTMLElement} body
 * @param {any[]} lists
 * @param {string} list
 * @param {AbortSignal} signal
 */
function showChoice(body, lists, list, signal) {
  /** @type {Interrupted | null} */
  const before = draftRead(NAME);
  const problems = h('div');
  const file = field({
    name: 'file', label: 'CSV file', type: 'file',
    hint: 'The first row names the columns. At most 20,000 rows.',
    attributes: { accept: '.csv,text/csv,text/plain', 'data-focus': true },
  });
  file.control.addEventListener('change', async () => {
    const chosen = /** @type {HTMLInputElement} */ (file.control).files?.[0];
    if (!chosen) return;
    const rows = csvRead(await chosen.text());
    if (rows.length < 2 || rows.length > 20_001) {
      replace(problems, notice('bad', rows.length < 2
        ? 'This file has no rows below its first one.'
        : `This file has ${whole(rows.length - 1)} rows. Split it: 20,000 is the most.`));
      return;
    }
    const read = { name: chosen.name, header: rows[0], rows: rows.slice(1) };
    if (before && before.mark === markOf(read)) {
      await run(body, read, before.columns, before.list, before, signal);
    } else {
      showColumns(body, read, lists, list, signal);
    }
  });
  replace(body,
    before ? notice('warn', h('p', null, `The import of “${before.name}” was interrupted after `
      + `${counted(before.done, 'row')}. Choose the same file to go on from there.`),
    h('div', null, button('Forget it', () => {
      draftDrop(NAME);
      reload();
    }, { small: true }))) : null,
    problems, h('div', { class: 'card form' }, file.element));
}

/**
 * @param {HTMLElement} body
 * @param {File_} file
 * @param {any[]} lists
 * @param {string} list
 * @param {AbortSignal} signal
 */
function showColumns(body, file, lists, list, signal) {
  const problems = h('div');
  const choices = file.header.map((name, index) => field({
    name: `column-${index}`, label: name || `Column ${index + 1}`, type: 'select',
    value: guess(name, file.header.slice(0, index)),
    hint: file.rows.slice(0, 3).map((row) => row[index]).filter(Boolean).join(', ').slice(0, 60),
    options: [...KNOWN,
      { value: `custom.${customName(name)}`, label: `Custom: ${customName(name)}` }],
  }));
  const target = field({
    name: 'list', label: 'Add everyone to a list', type: 'select', value: list,
    options: [{ value: '', label: 'No list' },
      ...lists.map((one) => ({ value: one.id, label: one.name }))],
  });
  const sample = h('div');
  const columns = () => choices.map((one) => one.value());
  const showSample = () => replace(sample, sampleTable(file, columns()));
  for (const one of choices) one.control.addEventListener('change', showSample);
  showSample();
  const go = button(`Import ${counted(file.rows.length, 'row')}`, () => {
    const chosen = columns();
    const used = chosen.filter(Boolean);
    if (!chosen.includes('phone')) {
      replace(problems, notice('bad', 'Say which column holds the mobile number.'));
    } else if (new Set(used).size < used.length) {
      replace(problems,
        notice('bad', 'Two columns have the same meaning. Leave one of them out.'));
    } else {
      run(body, file, chosen, target.value(), null, signal);
    }
  }, { kind: 'main' });
  replace(body,
    h('section', { class: 'card stack' },
      h('h2', { tabindex: '-1' }, `What is in “${file.name}”?`),
      h('div', { class: 'form-row' }, choices.map((one) => one.element))),
    h('section', { class: 'stack-tight' }, h('h2', null, 'The first rows'), sample),
    h('div', { class: 'form' }, target.element), problems,
    h('div', { class: 'actions' }, go, button('Choose another file', reload)));
  body.querySelector('h2')?.focus();
}

/** @param {string} name @param {string[]} before */
function guess(name, before) {
  const found = GUESSES.find(([pattern]) => pattern.test(name))?.[1];
  const taken = before.some((one) => GUESSES.find(([pattern]) => pattern.test(one))?.[1] === found);
  return found && !taken ? found : `custom.${customName(name)}`;
}

/** @param {string} name */
const customName = (name) => name.trim().toLowerCase().replace(/[^a-z0-9]+/g, '_')
  .replace(/^[^a-z]+|_+$/g, '').slice(0, 40) || 'field';

/** @param {File_} file @param {string[]} columns */
function sampleTable(file, columns) {
  const shown = columns.map((column, index) => ({ column, index })).filter((one) => one.column);
  return table('The first rows', shown.map(({ column, index }) => ({
    label: KNOWN.find((one) => one.value === column)?.label ?? column.replace('custom.', ''),
    cell: (/** @type {string[]} */ row) => row[index] ?? '',
  })), file.rows.slice(0, 4)).element;
}

/** Knows the same file again. @param {File_} file */
function markOf(file) {
  // FNV-1a, and a second one over its steps. `crypto.subtle` is not there on a page without HTTPS.
  const text = JSON.stringify([file.header, file.rows]);
  let low = 0x811c9dc5;
  let high = 0xcbf29ce4;
  for (let at = 0; at < text.length; at += 1) {
    low = Math.imul(low ^ text.charCodeAt(at), 0x01000193);
    high = Math.imul(high ^ low, 0x01000193);
  }
  return `${text.length}-${(low >>> 0).toString(16)}-${(high >>> 0).toString(16)}`;
}

/** @param {string[]} row @param {string[]} columns */
function contactOf(row, columns) {
  /** @type {Record<string, any>} */
  const contact = {};
  for (const [index, column] of columns.entries()) {
    const cell = (row[index] ?? '').trim();
    if (!column || !cell) continue;
    if (column.startsWith('custom.')) {
      contact.custom = { ...contact.custom, [column.slice(7)]: cell };
    } else {
      contact[column] = cell;
    }
  }
  return { phone: '', ...contact };
}

/**
 * @param {HTMLElement} body
 * @param {File_} file
 * @param {string[]} columns
 * @param {string} list
 * @param {Interrupted | null} before
 * @param {AbortSignal} signal
 */
async function run(body, file, columns, list, before, signal) {
  const mark = markOf(file);
  const key = before?.key ?? newKey();
  /** @type {Report} */
  const report = before?.report
    ?? { created: 0, updated: 0, unchanged: 0, invalid: 0, added: 0, bad: [] };
  let done = before?.done ?? 0;
  /** @returns {Interrupted} */
  const state = () => ({ name: file.name, mark, key, done, report, columns, list });
  const keep = () => draftWrite(NAME, state());
  keep();
  while (done < file.rows.length && !signal.aborted) {
    replace(body, h('div', { class: 'card', role: 'status' },
      progress('Rows imported', done, file.rows.length)));
    const portion = file.rows.slice(done, done + PORTION);
    try {
      const { data } = await post('/v1/contacts/import', {
        rows: portion.map((row) => contactOf(row, columns)), list_id: list || null,
      }, `${key}-${done}`);
      count(report, data, portion, done);
    } catch (error) {
      if (signal.aborted) return;
      replace(body, errorNotice(error), h('div', { class: 'actions' },
        button(`Go on from row ${whole(done + 1)}`, () => {
          run(body, file, columns, list, state(), signal);
        }, { kind: 'main' })));
      return;
    }
    done += portion.length;
    keep();
  }
  if (signal.aborted) return;
  draftDrop(NAME);
  showReport(body, file, report, signal);
}

/**
 * @param {Report} report
 * @param {import('../api.js').Schemas['ImportResult']} result
 * @param {string[][]} portion
 * @param {number} start
 */
function count(report, result, portion, start) {
  report.created += result.created;
  report.updated += result.updated;
  report.unchanged += result.unchanged;
  report.invalid += result.invalid;
  report.added += result.added_to_list;
  for (const row of result.rows) {
    if (row.outcome !== 'invalid' && row.outcome !== 'duplicate') continue;
    const error = row.error ?? 'The same number stands further down.';
    // The first row of the file is its header.
    report.bad.push({ line: start + row.row + 2, cells: portion[row.row], error });
  }
}

/**
 * @param {HTMLElement} body
 * @param {File_} file
 * @param {Report} report
 * @param {AbortSignal} signal
 */
function showReport(body, file, report, signal) {
  const bad = csvWrite([[...file.header, 'line', 'problem'],
    ...report.bad.map((one) => [...one.cells, String(one.line), one.error])]);
  const address = URL.createObjectURL(new Blob([bad], { type: 'text/csv' }));
  signal.addEventListener('abort', () => URL.revokeObjectURL(address));
  replace(body,
    h('section', { class: 'stack', role: 'status' },
      h('h2', { tabindex: '-1' }, `“${file.name}” was imported`),
      stats(stat('New', whole(report.created)), stat('Updated', whole(report.updated)),
        stat('Unchanged', whole(report.unchanged)), stat('Failed', whole(report.invalid)),
        stat('Added to the list', whole(report.added)))),
    report.bad.length > 0 ? h('section', { class: 'stack-tight' },
      h('div', { class: 'card-head' },
        h('h2', null, `${counted(report.bad.length, 'row')} left out`),
        linkButton('Download them as CSV', address, { download: 'failed-rows.csv' })),
      table('Rows left out', [
        { label: 'Line', cell: (one) => String(one.line) },
        { label: 'Row', cell: (one) => one.cells.join(', ') },
        { label: 'Problem', cell: (one) => one.error },
      ], report.bad.slice(0, 100)).element) : null,
    h('div', { class: 'actions' },
      linkButton('Show the contacts', '/console/contacts', { kind: 'main' }),
      button('Import another file', reload)));
  body.querySelector('h2')?.focus();
}
