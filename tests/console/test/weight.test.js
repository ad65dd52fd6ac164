// The first page is light, and every file is kept by the browser.

import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { test } from 'node:test';
import { pageOpen, signIn } from '../src/browser.js';
import { pageSettled } from '../src/pages.js';
import { stage } from '../src/setup.js';

const here = stage();
const MOST = 150 * 1024;

test('the first page, and the sign-in before it, weigh less than 150 KB compressed', async () => {
  const { page, context } = await pageOpen(here.browser, here.server);
  let weight = 0;
  /** @type {Promise<void>[]} */
  const weighed = [];
  page.on('response', (response) => {
    weighed.push(response.body().then((body) => {
      weight += gzipSync(body).length;
    }, () => {}));
  });
  await signIn(page, here.server, 'live');
  await pageSettled(page);
  await Promise.all(weighed);
  console.log(`sign-in and first page: ${Math.round(weight / 1024)} KB compressed`);
  assert.ok(weight < MOST, `${weight} bytes`);
  await context.close();
});
