// How a CSV file is read in the browser. The server reads it in the same way where there is no
// script, and writes the rows that failed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvRead } from '../../../sms-console/assets/module/csv.js';

test('CSV is read as spreadsheets write it, with the line of each row', () => {
  /** @type {[string, [number, string[]][]][]} */
  const files = [
    ['\ufeffa,"b ""c""","d\ne"\r\n1,,x;y\r\n\r\n',
      [[1, ['a', 'b "c"', 'd\ne']], [3, ['1', '', 'x;y']]]],
    ['a;b\r1;2\r', [[1, ['a', 'b']], [2, ['1', '2']]]],
    ['a;b\n"1;2";3', [[1, ['a', 'b']], [2, ['1;2', '3']]]],
    ['a\tb\n\n ,\n1\t2,3', [[1, ['a', 'b']], [3, [' ,']], [4, ['1', '2,3']]]],
    ['a,b\n,\n\n"1\n2",3\n4\n', [[1, ['a', 'b']], [4, ['1\n2', '3']], [6, ['4']]]],
    ['', []],
  ];
  for (const [file, rows] of files) {
    assert.deepEqual(csvRead(file), rows.map(([line, cells]) => ({ line, cells })), file);
  }
});
