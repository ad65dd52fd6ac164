// Imports a CSV file of contacts in portions, and goes on where a reload interrupted it. The server
// makes what is shown: the choice of columns and the report.
//
// Each portion has an idempotency key of its own, made from the import's key and the place, so that
// an import that a reload interrupted goes on when the same file is chosen again, and no portion
// is done twice.

import { csvRead } from './csv.js';

/** @typedef {import('./csv.js').Row} Row */
/** @typedef {{file: string, header: string[], rows: Row[]}} Sheet */
/** @typedef {{line: number, cells: string[], problem: string}} LeftOut */
/** @typedef {{file: string, created: number, updated: number, unchanged: number,
 *   invalid: number, added_to_list: number, header: string[], left_out: LeftOut[],
 *   not_listed: number}} Report */
/** @typedef {{mark: string, key: string, done: number, report: Report, columns: string[],
 *   list: string}} State */
/** @typedef {{row: number, outcome: string, error: string | null}} RowResult */

const PORTION = 1000;
const PATH = '/console/contacts/import';
/** The most characters of the rows left out that the report lists. */
const MOST_LISTED = 2_000_000;

// A download leaves the page as it is, and can be had again.
document.addEventListener('submit', (event) => {
  const sent = /** @type {Element} */ (event.target);
  if (sent.matches('[data-download]')) event.stopPropagation();
}, { capture: true });

const root = /** @type {HTMLElement} */ (document.getElementById('import'));
const form = /** @type {HTMLFormElement} */ (root.querySelector('form'));
const file = /** @type {HTMLInputElement} */ (form.elements.namedItem('file'));
const place = `import of ${root.dataset.owner}`;
const problems = document.createElement('div');
problems.hidden = true;

for (const one of root.querySelectorAll('[data-without-script]')) one.remove();
root.prepend(problems);
const before = stateRead();
if (before) showInterrupted(before);
file.addEventListener('change', startChosen);
// It may have been chosen before this module was there.
startChosen();

function startChosen() {
  const chosen = file.files?.[0];
  if (chosen) start(chosen).catch((error) => say(problems, error));
}

/** @param {File} chosen */
async function start(chosen) {
  problems.replaceChildren();
  problems.hidden = true;
  const [first, ...rows] = csvRead(await chosen.text());
  const sheet = { file: chosen.name, header: first?.cells ?? [], rows };
  const interrupted = stateRead();
  if (interrupted && interrupted.mark === markOf(sheet)) await run(sheet, interrupted);
  else await chooseColumns(sheet);
}

/** Asks what the columns are, until the answer can be imported. @param {Sheet} sheet */
async function chooseColumns(sheet) {
  const { file: name, header, rows } = sheet;
  const sample = rows.slice(0, 4).map((row) => row.cells);
  const asked = new FormData();
  asked.set('csrf', csrf());
  asked.set('list', root.dataset.list ?? '');
  asked.set('sheet', JSON.stringify({ file: name, header, rows: rows.length, sample }));
  await showColumns(sheet, asked);
}

/** @param {Sheet} sheet @param {FormData} asked */
async function showColumns(sheet, asked) {
  const made = await fragment('columns', asked);
  const columns = made.querySelector('form');
  if (!columns) {
    problems.replaceChildren(made);
    problems.hidden = false;
    return;
  }
  if ('ready' in columns.dataset) {
    const answered = new FormData(columns);
    const chosen = answered.getAll('column').map(String);
    await run(sheet, stateNew(sheet, chosen, String(answered.get('list') ?? '')));
    return;
  }
  columns.addEventListener('submit', (event) => {
    event.preventDefault();
    event.stopPropagation();
    showColumns(sheet, new FormData(columns)).catch((error) => say(columns, error));
  });
  show(made);
}

/** @param {Sheet} sheet @param {string[]} columns @param {string} list @returns {State} */
function stateNew(sheet, columns, list) {
  const report = {
    file: sheet.file, created: 0, updated: 0, unchanged: 0, invalid: 0, added_to_list: 0,
    header: sheet.header, left_out: [], not_listed: 0,
  };
  return { mark: markOf(sheet), key: keyNew(), done: 0, report, columns, list };
}

/** @param {Sheet} sheet @param {State} state */
async function run(sheet, state) {
  const { rows } = sheet;
  stateWrite(state);
  try {
    while (state.done < rows.length) {
      showProgress(state.done, rows.length);
      const portion = rows.slice(state.done, state.done + PORTION);
      count(state.report, await send(portion, state), portion);
      state.done += portion.length;
      stateWrite(state);
    }
    const asked = new FormData();
    asked.set('csrf', csrf());
    asked.set('report', JSON.stringify(state.report));
    show(await fragment('report', asked));
    sessionStorage.removeItem(place);
  } catch (error) {
    showStopped(error, sheet, state);
  }
}

/** @param {Row[]} portion @param {State} state @returns {Promise<any>} */
async function send(portion, { columns, list, key, done }) {
  const body = JSON.stringify({
    rows: portion.map((row) => contactOf(row.cells, columns)), list_id: list || null,
  });
  const response = await ask('/console/api/v1/contacts/import', {
    headers: {
      'Content-Type': 'application/json',
      'X-CSRF-Token': csrf(),
      'Idempotency-Key': `${key}-${done}`,
    },
    body,
  });
  const answer = await response.json().catch(() => null);
  if (!response.ok || !answer) throw new Error(answer?.error?.message ?? root.dataset.failed);
  return answer.data;
}

/**
 * A part of the page that the server makes.
 * @param {string} name
 * @param {FormData} body
 */
async function fragment(name, body) {
  const response = await ask(`${PATH}/${name}`, { body });
  if (!response.ok && response.status !== 422) throw new Error(root.dataset.failed);
  const made = new DOMParser().parseFromString(await response.text(), 'text/html');
  const content = document.createElement('div');
  content.className = 'stack';
  content.append(...made.body.childNodes);
  return content;
}

/** @param {string} path @param {RequestInit} init */
async function ask(path, init) {
  try {
    return await fetch(path, { method: 'POST', ...init });
  } catch {
    throw new Error(root.dataset.offline);
  }
}

/** @param {string[]} cells @param {string[]} columns */
function contactOf(cells, columns) {
  /** @type {Record<string, any>} */
  const contact = { phone: '' };
  for (const [index, column] of columns.entries()) {
    const cell = (cells[index] ?? '').trim();
    if (column === 'left_out' || !cell) continue;
    if (column.startsWith('custom.')) {
      contact.custom = { ...contact.custom, [column.slice(7)]: cell };
    } else {
      contact[column] = cell;
    }
  }
  return contact;
}

/** @param {Report} report @param {any} result @param {Row[]} portion */
function count(report, result, portion) {
  report.created += result.created;
  report.updated += result.updated;
  report.unchanged += result.unchanged;
  report.invalid += result.invalid;
  report.added_to_list += result.added_to_list;
  let length = JSON.stringify(report.left_out).length;
  for (const { row, outcome, error } of /** @type {RowResult[]} */ (result.rows)) {
    if (outcome !== 'invalid' && outcome !== 'duplicate') continue;
    const left = { ...portion[row], problem: error ?? '' };
    length += JSON.stringify(left).length;
    if (length > MOST_LISTED) report.not_listed += 1;
    else report.left_out.push(left);
  }
}

/** Shows a part of the page in the place of what was there. @param {Element} content */
function show(content) {
  root.replaceChildren(content);
  const heading = content.querySelector('h2');
  heading?.setAttribute('tabindex', '-1');
  heading?.focus();
}

/** @param {number} done @param {number} total */
function showProgress(done, total) {
  let bar = root.querySelector('progress');
  if (!bar) {
    root.replaceChildren(templateOf('import-progress'));
    bar = /** @type {HTMLProgressElement} */ (root.querySelector('progress'));
  }
  bar.max = total;
  bar.value = done;
  fill(root, { done: whole(done), total: whole(total) });
}

/** @param {unknown} error @param {Sheet} sheet @param {State} state */
function showStopped(error, sheet, state) {
  const made = templateOf('import-stopped');
  fill(made, { why: inWords(error), row: whole(state.done + 1) });
  made.querySelector('button')?.addEventListener('click', () => run(sheet, state));
  root.replaceChildren(made);
}

/** @param {State} state */
function showInterrupted(state) {
  const made = templateOf('import-interrupted');
  fill(made, { file: state.report.file, done: whole(state.done) });
  made.querySelector('button')?.addEventListener('click', () => {
    sessionStorage.removeItem(place);
    location.reload();
  });
  root.prepend(made);
}

/** @param {Element} where @param {unknown} error */
function say(where, error) {
  const made = templateOf('import-refused');
  fill(made, { why: inWords(error) });
  where.querySelector('.notice-bad')?.remove();
  where.prepend(made);
  if (where === problems) problems.hidden = false;
}

/** @param {unknown} error */
function inWords(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {string} id */
function templateOf(id) {
  const template = /** @type {HTMLTemplateElement} */ (document.getElementById(id));
  return /** @type {DocumentFragment} */ (template.content.cloneNode(true));
}

/** Puts words into their places. @param {ParentNode} where @param {Record<string, string>} words */
function fill(where, words) {
  for (const [name, text] of Object.entries(words)) {
    for (const element of where.querySelectorAll(`[data-fill="${name}"]`)) {
      element.textContent = text;
    }
  }
}

/** The token of the session. Signing in again in another tab changes it on this page, too. */
function csrf() {
  const field = document.querySelector('input[name="csrf"]');
  return field instanceof HTMLInputElement ? field.value : '';
}

/** @param {number} count */
function whole(count) {
  return count.toLocaleString('en-GB');
}

/** `crypto.randomUUID` is not there on a page that came without HTTPS. */
function keyNew() {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((one) => one.toString(16).padStart(2, '0')).join('');
}

/** Knows the same file again. @param {Sheet} sheet */
function markOf({ header, rows }) {
  // FNV-1a, and a second one over its steps. `crypto.subtle` is not there on a page without HTTPS.
  const text = JSON.stringify([header, rows.map((row) => row.cells)]);
  let low = 0x811c9dc5;
  let high = 0xcbf29ce4;
  for (let at = 0; at < text.length; at += 1) {
    low = Math.imul(low ^ text.charCodeAt(at), 0x01000193);
    high = Math.imul(high ^ low, 0x01000193);
  }
  return `${text.length}-${(low >>> 0).toString(16)}-${(high >>> 0).toString(16)}`;
}

/** What a reload interrupted. @returns {State | null} */
function stateRead() {
  try {
    return JSON.parse(sessionStorage.getItem(place) ?? 'null');
  } catch {
    return null;
  }
}

/** @param {State} state */
function stateWrite(state) {
  try {
    sessionStorage.setItem(place, JSON.stringify(state));
  } catch {
    // A full store loses what a reload would need, and nothing else.
  }
}
