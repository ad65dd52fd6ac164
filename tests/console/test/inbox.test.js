// Answering people.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { WIDTHS, pageOpen, signIn } from '../src/browser.js';
import { historyMake } from '../src/history.js';
import { serverStart } from '../src/server.js';
import { errorShown, job, stage, until } from '../src/setup.js';

/** @type {any} */
let facts;
const here = stage({}, async (server) => {
  facts = await historyMake(server);
});

/** @param {import('../src/server.js').Server} server @param {string} from @param {string} body */
const comesIn = (server, from, body) => (
  server.operator('POST', '/inbound', { from, to: facts.own, body }));

job(here, 'a new message appears by itself, and opening it marks it as read', 'live',
  '/console/inbox', async (page, server) => {
    await comesIn(server, '+447700900301', 'A new face at the door');
    const row = page.getByRole('link', { name: /07700 900301.*A new face at the door.*unread/s });
    await row.waitFor();
    await row.click();
    await page.getByRole('log').getByText('A new face at the door').waitFor();
    await page.getByRole('navigation').getByRole('link', { name: /Inbox.*unread/s }).waitFor();
    await until(() => server.api('GET', '/conversations?q=07700900301'),
      (answer) => answer.data[0].unread === 0);
    await comesIn(server, '+447700900301', 'And a second thing');
    await page.getByRole('log').getByText('And a second thing').waitFor();
  });

job(here, 'a conversation shows the status of each message, and why one failed', 'live',
  '/console/inbox/%2B447700900100', async (page, server) => {
    await page.getByRole('heading', { name: 'Front desk' }).first().waitFor();
    await page.getByText('frontdesk@example.com').waitFor();
    await page.getByRole('link', { name: 'Delivered' }).first().waitFor();
    await comesIn(server, '+447700900902', 'Are you there?');
    await page.goto(`${server.base}/console/inbox/%2B447700900902`);
    await page.getByText('The number is not in use.').first().waitFor();
  });

job(here, 'a reply is priced, sent by the keyboard alone and seen to arrive', 'live',
  '/console/inbox', async (page, server) => {
    await comesIn(server, '+447700900302', 'By keyboard, please');
    await page.getByRole('link', { name: /By keyboard, please/ }).waitFor();
    await page.getByRole('link', { name: /By keyboard, please/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('log').getByText('By keyboard, please').waitFor();
    await until(() => page.evaluate(() => document.activeElement?.tagName), (tag) => tag === 'H2');
    for (let presses = 0; presses < 12; presses += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement?.tagName) === 'TEXTAREA') break;
    }
    await page.keyboard.type('Typed, priced and sent');
    await page.getByText('Costs 1 credit').waitFor();
    await page.getByRole('button', { name: 'Send for 1 credit' }).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByRole('log').getByText('Typed, priced and sent').waitFor();
    assert.equal(await page.getByLabel('Reply', { exact: true }).last().inputValue(), '');
    await page.getByRole('log').getByRole('link', { name: 'Delivered' }).waitFor();
    const sent = await server.api('GET', '/messages?q=Typed, priced and sent');
    assert.equal(sent.data.length, 1);
  });

job(here, 'in a long conversation the last message and the reply are in view, at both widths',
  'live', '/console', async (page, server) => {
    const from = '+447700900305';
    for (let count = 1; count <= 25; count += 1) {
      await comesIn(server, from, `Message number ${count} of a long conversation`);
    }
    for (const viewport of Object.values(WIDTHS)) {
      await page.setViewportSize(viewport);
      await page.goto(`${server.base}/console/inbox/${encodeURIComponent(from)}`);
      const last = page.getByRole('log').getByText('Message number 25');
      await last.waitFor();
      const inView = await page.evaluate(() => {
        const send = document.querySelector('.reply button[type="submit"]');
        return window.scrollY === 0
          && document.documentElement.scrollHeight <= innerHeight + 1
          && Number(send?.getBoundingClientRect().bottom) <= innerHeight;
      });
      assert.ok(inView, `at ${viewport.width} px`);
      const [message, log] = await Promise.all([
        last.boundingBox(), page.getByRole('log').boundingBox(),
      ]);
      assert.ok(message && log && message.y > log.y && message.y < log.y + log.height,
        JSON.stringify([message, log]));
    }
  });

job(here, 'a reply clicked twice is sent once', 'live', '/console/inbox/%2B447700900101',
  async (page, server) => {
    await page.getByRole('textbox', { name: 'Reply' }).fill('Only one of these');
    await page.getByRole('button', { name: 'Send for 1 credit' }).dblclick();
    await page.getByRole('log').getByText('Only one of these').waitFor();
    const sent = await server.api('GET', '/messages?q=Only one of these');
    assert.equal(sent.data.length, 1);
  });

job(here, 'a person who has opted out is marked and cannot be texted', 'live',
  '/console/inbox/%2B447700900109', async (page) => {
    await page.getByText('This person has opted out and cannot be texted').waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Reply' }).count(), 0);
  });

job(here, 'conversations are found by name, by number and by being unread', 'live',
  '/console/inbox', async (page) => {
    await page.getByLabel('Search conversations').fill('porter');
    await page.getByRole('link', { name: /Night porter/ }).waitFor();
    await until(() => page.locator('.conversation').count(), (count) => count === 1);
    assert.match(page.url(), /q=porter/);
    await page.getByLabel('Search conversations').fill('nobody at all');
    await page.getByText('No conversation matches.').waitFor();
  });

job(here, 'a draft of a reply survives a reload and another conversation', 'live',
  '/console/inbox/%2B447700900103', async (page) => {
    await page.getByRole('textbox', { name: 'Reply' }).fill('Half an answer');
    await page.getByRole('link', { name: /Front desk/ }).click();
    await page.getByRole('heading', { name: 'Front desk' }).first().waitFor();
    await page.goBack();
    await page.reload();
    await page.getByRole('textbox', { name: 'Reply' }).waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Reply' }).inputValue(),
      'Half an answer');
  });

job(here, 'the pages of the inbox show each conversation once while new messages arrive', 'live',
  '/console', async (page, server) => {
    for (let index = 0; index < 60; index += 1) {
      await comesIn(server, `+447703${300_000 + index}`, 'A long inbox');
    }
    await page.goto(`${server.base}/console/inbox`);
    const names = () => page.locator('.conversation-name').allInnerTexts();
    /** @type {string[]} */
    const seen = [];
    const older = page.getByRole('link', { name: 'Older' });
    for (;;) {
      await until(names, (all) => all.length > 0 && !seen.includes(all[0]));
      seen.push(...await names());
      // The list is live: once it shows what came on top, its last one is on the page after it.
      const next = await older.count() === 0 ? null : await older.getAttribute('href');
      if (seen.length === 25) await comesIn(server, '+447703300999', 'On top');
      if (!next) break;
      await page.goto(new URL(next, page.url()).href);
    }
    assert.equal(new Set(seen).size, seen.length);
    assert.equal(seen.filter((one) => one.startsWith('07703 300')).length, 60);
    await page.getByRole('link', { name: 'Newest' }).click();
    await page.getByRole('link', { name: /On top/ }).waitFor();
  });

job(here, 'opening a conversation keeps the scroll position of the list', 'live',
  '/console/inbox?unread=true', async (page, server) => {
    await comesIn(server, '+447700900306', 'Open me');
    await page.getByRole('link', { name: /Open me/ }).click();
    await page.getByRole('log').getByText('Open me').waitFor();
    assert.match(page.url(), /\?unread=true/);
    assert.equal(await page.getByLabel('Show', { exact: true }).inputValue(), 'true');
    // It is read now, and so no longer among the unread.
    await page.locator('.conversation', { hasText: 'Open me' }).waitFor({ state: 'detached' });
    await page.getByRole('log').getByText('Open me').waitFor();
  });

job(here, 'a reply whose answer was lost is sent once, even from a restored page', 'live',
  '/console/inbox/%2B447700900104', async (page, server) => {
    let lost = 0;
    await page.route('**/console/inbox/%2B447700900104*', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return route.continue();
      lost += 1;
      await route.fetch({ maxRedirects: 0 });
      return route.abort();
    });
    await page.getByRole('textbox', { name: 'Reply' }).fill('Answer lost on the way');
    await page.getByRole('button', { name: 'Send for 1 credit' }).click();
    await until(async () => lost, (times) => times === 1);
    await errorShown(page);
    await page.goto(`${server.base}/console/inbox/%2B447700900104`);
    await until(() => page.getByRole('textbox', { name: 'Reply' }).inputValue(),
      (text) => text === 'Answer lost on the way');
    await page.getByRole('button', { name: 'Send for 1 credit' }).click();
    await until(() => page.getByRole('textbox', { name: 'Reply' }).inputValue(),
      (text) => text === '');
    assert.equal((await server.api('GET', '/messages?q=Answer lost on the way')).data.length, 1);
  });

job(here, 'an opt-out removes the reply form of an open conversation, and an opt-in restores it',
  'live', '/console/inbox/%2B447700900105', async (page, server) => {
    await page.getByRole('textbox', { name: 'Reply' }).fill('Half written');
    await comesIn(server, '+447700900105', 'STOP');
    await page.getByText('This person has opted out and cannot be texted').waitFor();
    assert.ok(await page.getByRole('textbox', { name: 'Reply' }).isHidden());
    await comesIn(server, '+447700900105', 'START');
    await page.getByRole('textbox', { name: 'Reply' }).waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Reply' }).inputValue(), 'Half written');
  });

job(here, 'a person who opts in again can be answered at once, without a reload', 'live',
  '/console/inbox', async (page, server) => {
    await comesIn(server, '+447700900308', 'STOP');
    await page.goto(`${server.base}/console/inbox/%2B447700900308`);
    const stopped = page.getByText('This person has opted out and cannot be texted');
    const reply = page.getByRole('textbox', { name: 'Reply' });
    await stopped.waitFor();
    assert.ok(await reply.isHidden());
    await comesIn(server, '+447700900308', 'START');
    await reply.waitFor();
    await comesIn(server, '+447700900308', 'STOP');
    await stopped.waitFor();
    await page.reload();
    await stopped.waitFor();
    await server.api('DELETE', '/opt-outs/%2B447700900308');
    await reply.waitFor();
    await reply.fill('Welcome back');
    await page.getByRole('button', { name: 'Send for 1 credit' }).click();
    await page.getByRole('log').getByText('Welcome back').waitFor();
  });

job(here, 'without script a reply is priced and sent once, and messages are marked as read', 'live',
  '/console/inbox', async (page, server) => {
    await comesIn(server, '+447700900307', 'No script here');
    await page.reload();
    await page.getByRole('link', { name: /No script here/ }).click();
    await page.getByRole('button', { name: 'Mark as read' }).click();
    await page.getByRole('button', { name: 'Mark as read' }).waitFor({ state: 'detached' });
    const { data } = await server.api('GET', '/conversations?q=07700900307');
    assert.equal(data[0].unread, 0);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Write something first.').waitFor();
    await page.getByRole('textbox', { name: 'Reply' }).fill('It’s sent without script');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText('“’” makes this UCS-2').waitFor();
    await page.getByRole('button', { name: 'Use plain characters' }).click();
    await page.getByRole('button', { name: 'Send for 1 credit' }).dblclick();
    await page.getByRole('log').getByText("It's sent without script").waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Reply' }).inputValue(), '');
    const sent = await server.api('GET', '/messages?q=sent without script');
    assert.equal(sent.data.length, 1);
  }, { javaScriptEnabled: false });

test('an open inbox shows that a restarting server is offline, and recovers',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'console-'));
    const settings = { SMS_STORE: 'file', SMS_DATA_DIR: folder };
    const first = await serverStart(settings);
    const { page, context, alarms } = await pageOpen(here.browser, first);
    let second = first;
    try {
      const own = (await first.operator('GET', '/numbers')).data[0].phone_number;
      const from = '+447700900303';
      await first.api('POST', '/messages', { to: from, body: 'Hello' });
      await first.operator('POST', '/inbound', { from, to: own, body: 'Before the restart' });
      await signIn(page, first, 'live', '/console/inbox/%2B447700900303');
      await page.getByRole('log').getByText('Before the restart').waitFor();
      await page.getByRole('textbox', { name: 'Reply' }).fill('Written while it was away');
      await first.stop('SIGKILL');
      await page.getByText('Offline: the server does not answer').waitFor();
      await page.getByRole('log').getByText('Before the restart').waitFor();
      second = await serverStart({
        ...settings, SMS_ADDR: `127.0.0.1:${first.port}`, SMS_DEMO: 'false',
      });
      await page.getByText('Offline: the server does not answer').waitFor({ state: 'detached' });
      await second.operator('POST', '/inbound', { from, to: own, body: 'After the restart' });
      await page.getByRole('log').getByText('After the restart').waitFor();
      assert.equal(await page.getByRole('textbox', { name: 'Reply' }).inputValue(),
        'Written while it was away');
      assert.deepEqual(alarms, []);
    } finally {
      await context.close();
      await second.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
