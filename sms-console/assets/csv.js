// Reads and writes CSV: quoted cells, doubled quotes, commas, semicolons or tabs, any line ending.

/**
 * @param {string} text
 * @returns {string[][]}
 */
export function csvRead(text) {
  const clean = text.replace(/^\ufeff/, '');
  const separator = separatorOf(clean);
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  let cell = '';
  let quoted = false;
  const endCell = () => {
    row.push(cell);
    cell = '';
  };
  const endRow = () => {
    endCell();
    if (row.some((one) => one.trim() !== '')) rows.push(row);
    row = [];
  };
  for (let at = 0; at < clean.length; at += 1) {
    const one = clean[at];
    if (quoted) {
      if (one !== '"') cell += one;
      else if (clean[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else quoted = false;
    } else if (one === '"' && cell === '') quoted = true;
    else if (one === separator) endCell();
    else if (one === '\n' || (one === '\r' && clean[at + 1] !== '\n')) endRow();
    else if (one !== '\r') cell += one;
  }
  if (cell !== '' || row.length > 0) endRow();
  return rows;
}

/** @param {string} text */
function separatorOf(text) {
  const [line] = text.split(/[\r\n]/, 1);
  /** @param {string} one */
  const count = (one) => line.split(one).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best));
}

/** @param {string[][]} rows */
export function csvWrite(rows) {
  return rows.map((row) => row.map(cellWritten).join(',')).join('\r\n');
}

/** A cell that a spreadsheet would run as a formula is prefixed. @param {string} cell */
function cellWritten(cell) {
  const safe = /^[=+\-@\t\r]/.test(cell) && !/^\+\d+$/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
