// The first page is light, and its modules are asked for at once.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { pageOpen, signIn } from '../src/browser.js';
import { pageSettled } from '../src/pages.js';
import { stage } from '../src/setup.js';

const here = stage();
const MOST = 150 * 1024;
const ASSETS = new URL('../../../sms-console/assets/', import.meta.url);

test('the first page, and the sign-in before it, weigh less than 150 KB compressed', async (t) => {
  const { page, context } = await pageOpen(here.browser, here.server);
  let weight = 0;
  /** @type {Promise<void>[]} */
  const weighed = [];
  page.on('requestfinished', (request) => {
    weighed.push(request.response().then(async (response) => {
      // A redirect has no body, and the browser would wait for it for ever.
      if (!response || response.status() >= 300) return;
      weight += gzipSync(await response.body()).length;
    }).catch(() => {}));
  });
  await signIn(page, here.server, 'live');
  await pageSettled(page);
  await Promise.all(weighed);
  t.diagnostic(`sign-in and first page: ${Math.round(weight / 1024)} KB compressed`);
  assert.ok(weight < MOST, `${weight} bytes`);
  await context.close();
});

test('the page names every module that it begins with: none waits for another', async () => {
  /** @type {Set<string>} */
  const needed = new Set();
  const todo = [new URL('main.js', ASSETS)];
  for (let next = todo.pop(); next; next = todo.pop()) {
    if (needed.has(next.href)) continue;
    needed.add(next.href);
    const source = await readFile(next, 'utf8');
    for (const [, path] of source.matchAll(/^(?:import\b.*|\} )from '(\..*)';$/gm)) {
      todo.push(new URL(path, next));
    }
  }
  const page = await readFile(new URL('index.html', ASSETS), 'utf8');
  const named = [...page.matchAll(/"\{\{assets\}\}\/(.*\.js)"/g)].map(([, path]) => path);
  const wanted = [...needed].map((href) => href.slice(ASSETS.href.length));
  assert.deepEqual(named.sort(), wanted.sort());
});
