// Reads CSV: quoted cells, doubled quotes, commas, semicolons or tabs, any line ending.

/** @typedef {{line: number, cells: string[]}} Row a row, and the line that it begins on */

/**
 * The rows of a file that have a word in them.
 * @param {string} text
 * @returns {Row[]}
 */
export function csvRead(text) {
  const clean = text.replace(/^\ufeff/, '');
  const separator = separatorOf(clean);
  /** @type {Row[]} */
  const rows = [];
  /** @type {string[]} */
  let cells = [];
  let cell = '';
  let quoted = false;
  let line = 1;
  let start = 1;
  const endCell = () => {
    cells.push(cell);
    cell = '';
  };
  const endRow = () => {
    endCell();
    if (cells.some((one) => one.trim() !== '')) rows.push({ line: start, cells });
    cells = [];
    start = line + 1;
  };
  for (let at = 0; at < clean.length; at += 1) {
    const one = clean[at];
    const endsLine = one === '\n' || (one === '\r' && clean[at + 1] !== '\n');
    if (quoted) {
      if (one !== '"') cell += one;
      else if (clean[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else quoted = false;
    } else if (one === '"' && cell === '') quoted = true;
    else if (one === separator) endCell();
    else if (endsLine) endRow();
    else if (one !== '\r') cell += one;
    if (endsLine) line += 1;
  }
  if (cell !== '' || cells.length > 0) endRow();
  return rows;
}

/** @param {string} text */
function separatorOf(text) {
  const [line] = text.split(/[\r\n]/, 1);
  /** @param {string} one */
  const count = (one) => line.split(one).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best));
}
