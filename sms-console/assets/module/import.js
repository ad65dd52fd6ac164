// Imports a file of contacts in portions, and goes on where a reload interrupted it. The server
// reads the file and makes what is shown: the choice of columns and the report.
//
// Each portion has an idempotency key of its own, made from the import's key and the place, so that
// an import that a reload interrupted goes on when the same file is chosen again, and no portion
// is done twice.

/** @typedef {{line: number, cells: string[], fault?: string}} Row */
/** @typedef {{file: string, encoding: string | null, delimiter: string,
 *   worksheet: string | null, worksheets: string[], header: string[], rows: Row[]}} Sheet */
/** @typedef {{encoding?: string | null, worksheet?: string | null}} Look how a file is read */
/** @typedef {'created' | 'updated' | 'unchanged' | 'invalid' | 'added_to_list' | 'values' |
 *   'not_listed'} Count */
/** @typedef {Record<Count, number> & {file: string, delimiter: string, header: string[],
 *   left_out: object[], has_list: boolean}} ImportReport */
/** @typedef {{mark: string, key: string, done: number, report: ImportReport, columns: string[],
 *   list: string, look: Look}} State */

/** @type {Count[]} */
const COUNTS = [
  'created', 'updated', 'unchanged', 'invalid', 'added_to_list', 'values', 'not_listed',
];
const PORTION = 1000;
/** About the most characters of a portion. */
const MOST_SENT = 2_000_000;
/** The most characters of a cell that is shown as a sample. */
const MOST_SHOWN = 200;
const PATH = '/console/contacts/import';
/** The most characters of the rows left out that the report lists. */
const MOST_LISTED = 2_000_000;

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
  const interrupted = stateRead();
  // It was read as somebody chose. Another file may have no such sheet.
  const look = interrupted?.look ?? {};
  const again = interrupted && await read(chosen, look).catch(() => null);
  if (interrupted && again && interrupted.mark === markOf(again)) await run(again, interrupted);
  else await chooseColumns(chosen, await read(chosen, {}));
}

/**
 * Has the server read a file.
 * @param {File} chosen
 * @param {Look} look what is not named is found out
 * @returns {Promise<Sheet>}
 */
async function read(chosen, look) {
  if (chosen.size > Number(root.dataset.most)) throw new Error(root.dataset.large);
  const sent = new FormData();
  sent.set('csrf', csrf());
  for (const [name, value] of Object.entries(look)) if (value) sent.set(name, value);
  sent.set('file', chosen);
  return answer('read', sent);
}

/**
 * Asks what the columns are, until the answer can be imported.
 * @param {File} chosen
 * @param {Sheet} sheet
 * @param {FormData | null} before what was chosen when the file was read in another way
 */
async function chooseColumns(chosen, { rows, ...kind }, before = null) {
  const sample = rows.slice(0, 4).map((row) => row.cells.map((cell) => cell.slice(0, MOST_SHOWN)));
  const asked = new FormData();
  asked.set('csrf', csrf());
  asked.set('list', root.dataset.list ?? '');
  if (before) keepChosen(before, asked);
  asked.set('sheet', JSON.stringify({ ...kind, rows: rows.length, sample }));
  await showColumns(chosen, { rows, ...kind }, asked);
}

/**
 * What somebody chose, for another reading of the same file.
 * @param {FormData} before
 * @param {FormData} asked
 */
function keepChosen(before, asked) {
  for (const name of ['key', 'list', 'list_name']) {
    const value = before.get(name);
    if (value !== null) asked.set(name, value);
  }
  for (const column of before.getAll('column')) asked.append('column_before', column);
  asked.set('sheet_before', before.get('sheet') ?? '');
}

/** @param {File} chosen @param {Sheet} sheet @param {FormData} asked */
async function showColumns(chosen, sheet, asked) {
  const made = await fragment('columns', asked);
  const columns = made.querySelector('form');
  if (!columns) {
    problems.replaceChildren(made);
    problems.hidden = false;
    return;
  }
  if ('ready' in columns.dataset) {
    const answered = new FormData(columns);
    const chosenColumns = answered.getAll('column').map(String);
    await run(sheet, stateNew(sheet, chosenColumns, String(answered.get('list') ?? '')));
    return;
  }
  columns.addEventListener('submit', (event) => {
    event.preventDefault();
    event.stopPropagation();
    showColumns(chosen, sheet, new FormData(columns)).catch((error) => say(columns, error));
  });
  for (const select of columns.querySelectorAll('[name="encoding"], [name="worksheet"]')) {
    select.addEventListener('change', ({ target }) => {
      const { name, value } = /** @type {HTMLSelectElement} */ (target);
      const before = new FormData(columns);
      read(chosen, { [name]: value }).then((again) => chooseColumns(chosen, again, before))
        .catch((error) => say(columns, error));
    });
  }
  show(made);
}

/** @param {Sheet} sheet @param {string[]} columns @param {string} list @returns {State} */
function stateNew(sheet, columns, list) {
  const { file: name, delimiter, header, encoding, worksheet } = sheet;
  const report = {
    file: name, delimiter, created: 0, updated: 0, unchanged: 0, invalid: 0, added_to_list: 0,
    values: 0, header, left_out: [], not_listed: 0, has_list: list !== '',
  };
  const look = { encoding, worksheet };
  return { mark: markOf(sheet), key: keyNew(), done: 0, report, columns, list, look };
}

/** @param {Sheet} sheet @param {State} state */
async function run(sheet, state) {
  const { rows } = sheet;
  stateWrite(state);
  try {
    while (state.done < rows.length) {
      showProgress(state.done, rows.length);
      const portion = portionOf(rows, state.done);
      count(state.report, await send(portion, state));
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

/** The rows that are sent next. @param {Row[]} rows @param {number} from */
function portionOf(rows, from) {
  let to = from;
  for (let length = 0; to < rows.length && to - from < PORTION && length < MOST_SENT; to += 1) {
    for (const cell of rows[to].cells) length += cell.length;
  }
  return rows.slice(from, to);
}

/** @param {Row[]} rows @param {State} state @returns {Promise<ImportReport>} */
async function send(rows, { columns, list, key, done }) {
  const sent = new FormData();
  sent.set('csrf', csrf());
  sent.set('key', `${key}-${done}`);
  sent.set('list', list);
  for (const column of columns) sent.append('column', column);
  sent.set('portion', JSON.stringify({ rows }));
  return answer('rows', sent);
}

/**
 * What the server says of a form; throws if it refuses it.
 * @param {string} name
 * @param {FormData} body
 */
async function answer(name, body) {
  const response = await ask(`${PATH}/${name}`, { body });
  const said = response.ok ? await response.json().catch(() => null) : null;
  if (!said || said.refused) throw new Error(said?.refused ?? root.dataset.failed);
  return said;
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

/** Adds the report on a portion. @param {ImportReport} report @param {ImportReport} part */
function count(report, part) {
  for (const name of COUNTS) report[name] += part[name];
  let length = JSON.stringify(report.left_out).length;
  for (const left of part.left_out) {
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
