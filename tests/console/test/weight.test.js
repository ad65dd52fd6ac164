// The first page is light, and the modules of a page are asked for at once.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { pageOpen, signIn } from '../src/browser.js';
import { pageSettled } from '../src/pages.js';
import { job, stage } from '../src/setup.js';

const here = stage();
const MOST = 150 * 1024;
const MODULES = new URL('../../../sms-console/assets/module/', import.meta.url);

test('the first page, and the sign-in before it, weigh less than 150 KB compressed', async (t) => {
  const { page, context } = await pageOpen(here.browser, here.server);
  /** @type {Set<string>} */
  const loaded = new Set();
  page.on('request', (request) => {
    const kinds = ['document', 'stylesheet', 'script', 'image'];
    if (request.method() === 'GET' && kinds.includes(request.resourceType())) {
      loaded.add(request.url());
    }
  });
  await signIn(page, here.server, 'live');
  await pageSettled(page);
  assert.ok(loaded.size > 15, 'pages, styles and modules are weighed');
  let weight = 0;
  for (const url of loaded) {
    const answer = await context.request.get(url);
    weight += gzipSync(await answer.body()).length;
  }
  t.diagnostic(`sign-in and first page: ${Math.round(weight / 1024)} KB compressed`);
  assert.ok(weight < MOST, `${weight} bytes`);
  await context.close();
});

job(here, 'a page lists every module that it loads at the start', 'live',
  '/console', async (page, server) => {
    for (const path of ['', '/inbox', '/compose', '/messages', '/contacts/import',
      '/campaigns/new', '/developers']) {
      await page.goto(`${server.base}/console${path}`);
      const named = await page.locator('script[type="module"]').evaluateAll((all) => (
        all.map((one) => one.getAttribute('src')?.split('/').pop() ?? '')));
      assert.ok(named.length > 5, `${path} has modules`);
      for (const name of named) {
        const source = await readFile(new URL(name, MODULES), 'utf8');
        for (const [, wanted] of source.matchAll(/ from '\.\/(.*)';$/gm)) {
          assert.ok(named.includes(wanted), `${path}: ${name} waits for ${wanted}`);
        }
      }
    }
  });
