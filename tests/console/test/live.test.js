// What a page shows by itself: told by the server as it happens, else asked for.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pageOpen } from '../src/browser.js';
import { historyMake } from '../src/history.js';
import { serverStart } from '../src/server.js';
import { job, stage, until } from '../src/setup.js';

/** @typedef {import('playwright-core').Page} Page */

/** @type {any} */
let facts;
const here = stage({}, async (server) => {
  facts = await historyMake(server);
});
const STREAM = '**/console/api/v1/events/stream';

/** @param {import('../src/server.js').Server} server @param {string} from @param {string} body */
const comesIn = (server, from, body) => (
  server.operator('POST', '/inbound', { from, to: facts.own, body }));

/**
 * Takes polling away, which waits for whole seconds: what a page shows now, it was told. How long
 * polling would have waited is kept.
 * @param {Page} page
 */
const toldOnly = (page) => page.addInitScript(() => {
  const start = window.setTimeout;
  const isPolling = (/** @type {number} */ time) => time >= 3000 && time % 1000 === 0;
  Object.assign(window, {
    setTimeout: (/** @type {() => void} */ then, /** @type {number} */ time) => {
      if (!isPolling(time)) return start(then, time);
      Object.assign(window, { pace: time });
      return 0;
    },
  });
});

/** How long polling would wait now, in milliseconds. @param {Page} page */
const pace = (page) => page.evaluate(() => Reflect.get(window, 'pace'));

/** How many tabs follow the stream, and how many wait for their turn. @param {Page} page */
const followers = (page) => page.evaluate(async () => {
  const { held = [], pending = [] } = await navigator.locks.query();
  return `${held.length} and ${pending.length}`;
});

/** As if somebody looked at the tab, or at another one. @param {Page} page @param {string} state */
const look = (page, state) => page.evaluate((now) => {
  Object.defineProperty(document, 'visibilityState', { configurable: true, value: now });
  document.dispatchEvent(new Event('visibilitychange'));
}, state);

/** Presses take no time by the page's clock. @param {Page} page */
const clockStop = (page) => page.evaluate(() => {
  const at = performance.now();
  Object.assign(performance, { now: () => at });
});

/** The page's clock is an hour on, and stays there. @param {Page} page */
const clockMove = (page) => page.evaluate(() => {
  const at = performance.now() + 3_600_000;
  Object.assign(performance, { now: () => at });
});

/**
 * A message comes in, and the page has read itself again with it.
 * @param {Page} page
 * @param {import('../src/server.js').Server} server
 * @param {string} from
 * @param {string} body
 */
async function comesToPage(page, server, from, body) {
  const read = page.waitForResponse(async (answer) => (
    answer.url() === page.url() && (await answer.text()).includes(body)));
  await comesIn(server, from, body);
  await read;
  await page.evaluate(() => new Promise(requestAnimationFrame));
}

job(here, 'a click survives a page update', 'live',
  '/console/inbox', async (page, server) => {
    await comesIn(server, '+447700900323', 'Press me');
    await page.getByRole('link', { name: /Press me/ }).hover();
    await clockStop(page);
    await page.mouse.down();
    await comesToPage(page, server, '+447700900323', 'Press me, too');
    await page.mouse.up();
    await page.getByRole('log').getByText('Press me, too').waitFor();
  });

job(here, 'an update that waited for a press does not replace a newer one', 'live',
  '/console/inbox', async (page, server) => {
    await page.getByRole('heading', { name: 'Inbox' }).hover();
    await clockStop(page);
    await page.mouse.down();
    await comesToPage(page, server, '+447700900329', 'Older');
    assert.equal(await page.getByRole('link', { name: /Older/ }).count(), 0);
    await clockMove(page);
    await comesToPage(page, server, '+447700900329', 'Newer');
    const newer = page.getByRole('link', { name: /Newer/ });
    await newer.waitFor();
    await page.mouse.up();
    await page.evaluate(() => new Promise((done) => setTimeout(done)));
    assert.equal(await newer.count(), 1);
  });

job(here, 'an update waits for a press that never ends for a short time only', 'live',
  '/console/inbox', async (page, server) => {
    await toldOnly(page);
    await page.reload();
    await clockStop(page);
    await page.evaluate(() => dispatchEvent(new PointerEvent('pointerdown')));
    await comesToPage(page, server, '+447700900330', 'Held back');
    const link = page.getByRole('link', { name: /Held back/ });
    assert.equal(await link.count(), 0);
    await clockMove(page);
    await link.waitFor();
  });

job(here, 'a page shows events at once, without polling', 'live',
  '/console', async (page, server) => {
    await toldOnly(page);
    await page.goto(`${server.base}/console/inbox`);
    await comesIn(server, '+447700900321', 'Told by the stream');
    await page.getByRole('link', { name: /Told by the stream/ }).waitFor();
    await comesIn(server, '+447700900321', 'And told again');
    await page.getByRole('link', { name: /And told again/ }).waitFor();
    await until(() => pace(page), (time) => time === 60_000);
    await page.getByRole('link', { name: /And told again/ }).click();
    await page.getByRole('log').getByText('And told again').waitFor();
    await comesIn(server, '+447700900321', 'Told in the conversation');
    await page.getByRole('log').getByText('Told in the conversation').waitFor();
    const { data } = await server.api('POST', '/messages', {
      to: '07700 900322', body: 'Watched on its way',
    });
    await page.goto(`${server.base}/console/messages/${data.messages[0].id}`);
    await page.locator('.timeline').getByText('Delivered').waitFor();
  });

job(here, 'a campaign is followed by the stream while it is sent', 'live',
  '/console', async (page, server) => {
    const { id } = (await server.api('POST', '/campaigns', {
      name: 'Followed', list_id: facts.list.id, body: 'Hello', ignore_quiet_hours: true,
    })).data;
    await toldOnly(page);
    await page.goto(`${server.base}/console/campaigns/${id}/launch`);
    await page.getByRole('button', { name: 'Launch for 8 credits' }).click();
    await page.locator('.stat').filter({ hasText: /^Delivered\s*8/ }).waitFor();
    await until(() => pace(page), (time) => time === 60_000);
    await page.goto(`${server.base}/console/campaigns`);
    await page.getByRole('link', { name: 'Followed' }).waitFor();
    await until(() => pace(page), (time) => time === 60_000);
  });

job(here, 'a page reconnects after its stream ends, and shows what it missed', 'live',
  '/console', async (page, server) => {
    let joined = 0;
    await page.route(STREAM, (route) => {
      joined += 1;
      return route.fulfill({
        contentType: 'text/event-stream', body: 'event: stream.ended\ndata: {}\n\n',
      });
    });
    await toldOnly(page);
    await page.goto(`${server.base}/console/inbox`);
    await until(async () => joined, (times) => times >= 2);
    await until(() => pace(page), (time) => time === 3000);
    await comesIn(server, '+447700900323', 'Between two streams');
    await page.getByRole('link', { name: /Between two streams/ }).waitFor();
  });

job(here, 'a page polls if the server refuses the stream', 'live',
  '/console', async (page, server) => {
    let refused = 0;
    await page.route(STREAM, (route) => {
      refused += 1;
      return route.fulfill({ status: 429, headers: { 'Retry-After': '10' }, body: '{}' });
    });
    await page.goto(`${server.base}/console/inbox`);
    await until(async () => refused, (times) => times >= 2);
    await comesIn(server, '+447700900324', 'Asked for');
    await page.getByRole('link', { name: /Asked for/ }).waitFor();
    await comesIn(server, '+447700900324', 'And asked for again');
    await page.getByRole('link', { name: /And asked for again/ }).waitFor();
  });

job(here, 'tabs share one stream, and the visible tab holds it', 'live',
  '/console/contacts', async (page, server, context) => {
    await toldOnly(page);
    await page.goto(`${server.base}/console/inbox`);
    await until(() => followers(page), (count) => count === '1 and 0');
    const other = await context.newPage();
    await toldOnly(other);
    let streams = 0;
    other.on('request', (request) => {
      if (request.url().endsWith('/events/stream')) streams += 1;
    });
    await other.goto(`${server.base}/console/inbox`);
    await until(() => followers(page), (count) => count === '1 and 1');
    for (const body of ['Told to both tabs', 'And to both again']) {
      await comesIn(server, '+447700900325', body);
      for (const tab of [page, other]) {
        await tab.getByRole('link', { name: new RegExp(body) }).waitFor();
      }
    }
    assert.equal(streams, 0);

    await look(page, 'hidden');
    await until(() => followers(page), (count) => count === '1 and 0');
    await until(async () => streams, (count) => count === 1);
    await comesIn(server, '+447700900325', 'Told to the other one');
    await other.getByRole('link', { name: /Told to the other one/ }).waitFor();

    await look(page, 'visible');
    await until(() => followers(page), (count) => count === '1 and 1');
    await page.getByRole('link', { name: /Told to the other one/ }).waitFor();
    await comesIn(server, '+447700900325', 'Told to the first again');
    await page.getByRole('link', { name: /Told to the first again/ }).waitFor();
    assert.equal(streams, 1);
  });

job(here, 'each tab has its own stream if the browser has no locks, as over plain HTTP', 'live',
  '/console', async (page, server, context) => {
    await context.addInitScript(() => {
      Object.defineProperty(navigator, 'locks', { value: undefined });
    });
    const tabs = [page, await context.newPage()];
    for (const tab of tabs) {
      await toldOnly(tab);
      await tab.goto(`${server.base}/console/inbox`);
    }
    for (const body of ['Told without locks', 'And once more']) {
      await comesIn(server, '+447700900328', body);
      for (const tab of tabs) await tab.getByRole('link', { name: new RegExp(body) }).waitFor();
    }
  });

test('a revoked key leads an open page to the sign-in at once', async () => {
  const { server } = here;
  const account = (await server.operator('GET', '/accounts')).data[0].id;
  const made = (await server.operator('POST', `/accounts/${account}/keys`, {
    kind: 'live', name: 'Lost',
  })).data;
  const { page, context, alarms } = await pageOpen(here.browser, server);
  try {
    await toldOnly(page);
    await page.goto(`${server.base}/console/inbox`);
    await page.getByLabel('API key or operator’s token').fill(made.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await comesIn(server, '+447700900326', 'Before the key was lost');
    await page.getByRole('link', { name: /Before the key was lost/ }).waitFor();
    await server.operator('DELETE', `/accounts/${account}/keys/${made.id}`);
    await page.getByText('Your session has ended').waitFor();
    assert.match(page.url(), /next=%2Fconsole%2Finbox/);
    assert.deepEqual(alarms, []);
  } finally {
    await context.close();
  }
});

test('a page follows a restarted server again, without polling', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'console-'));
  const settings = { SMS_STORE: 'file', SMS_DATA_DIR: folder };
  const first = await serverStart(settings);
  const { page, context, alarms } = await pageOpen(here.browser, first);
  let second = first;
  try {
    const own = (await first.operator('GET', '/numbers')).data[0].phone_number;
    const from = '+447700900327';
    await toldOnly(page);
    await page.goto(`${first.base}/console/inbox`);
    await page.getByLabel('API key or operator’s token').fill(first.live);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await first.operator('POST', '/inbound', { from, to: own, body: 'Before the restart' });
    await page.getByRole('link', { name: /Before the restart/ }).waitFor();
    await first.stop();
    await page.getByText('Offline: the server does not answer').waitFor();
    second = await serverStart({
      ...settings, SMS_ADDR: `127.0.0.1:${first.port}`, SMS_DEMO: 'false',
    });
    await page.getByText('Offline: the server does not answer').waitFor({ state: 'detached' });
    await second.operator('POST', '/inbound', { from, to: own, body: 'After the restart' });
    await page.getByRole('link', { name: /After the restart/ }).waitFor();
    assert.deepEqual(alarms, []);
  } finally {
    await context.close();
    await second.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
