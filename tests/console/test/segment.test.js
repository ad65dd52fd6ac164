// The parts that the page counts while somebody types are those that the server charges.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { measure, plain, replaceable } from '../../../sms-console/assets/segment.js';
import { serverStart } from '../src/server.js';

/** @type {import('../src/server.js').Server} */
let server;
before(async () => {
  server = await serverStart();
});
after(() => server?.stop());

/** @type {[string, string][]} */
const TEXTS = [
  ['one letter', 'a'],
  ['a full part', 'a'.repeat(160)],
  ['one more than a part', 'a'.repeat(161)],
  ['two full parts', 'a'.repeat(306)],
  ['an escape that would be split', `${'a'.repeat(152)}€${'a'.repeat(152)}`],
  ['escapes only', ']'.repeat(153)],
  ['a full part of UCS-2', 'д'.repeat(70)],
  ['one more in UCS-2', 'д'.repeat(71)],
  ['a pair that would be split', `${'д'.repeat(66)}😀${'д'.repeat(66)}`],
  ['the rarer characters of the alphabet',
    '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./:;<=>?¡ÄÖÑÜ§¿äöñüà'],
  ['every character of the extension', '\f^{}\\[~]|€'],
  ['typographic quotes', '“Thank you”, she said – and left…'],
];

for (const [name, text] of TEXTS) {
  test(`parts and encoding are the server’s: ${name}`, async () => {
    const { data } = await server.api('POST', '/messages/quote', {
      to: '07700 900123', body: text,
    });
    const { parts, encoding } = measure(text);
    assert.deepEqual({ parts, encoding }, { parts: data.credits, encoding: data.encoding });
  });
}

test('plain characters stand for typographic ones', () => {
  const text = '“It’s here” – see…';
  assert.ok(replaceable(measure(text).dear));
  assert.equal(plain(text), '"It\'s here" - see...');
  assert.equal(measure(plain(text)).encoding, 'gsm7');
  assert.ok(!replaceable(measure('дом').dear));
});
