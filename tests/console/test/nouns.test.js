// The smaller jobs: messages, templates, keywords, opt-outs, sender names, links, the theme.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { pageOpen, signIn } from '../src/browser.js';
import { historyMake } from '../src/history.js';
import { serverFor } from '../src/server.js';
import { job, stage, until } from '../src/setup.js';

const here = stage({}, historyMake);

job(here, 'messages are filtered, and the filters are a link that can be shared', 'live',
  '/console/messages', async (page, _, context) => {
    await page.getByLabel('State').selectOption('failed');
    await page.getByRole('link', { name: '07700 900901' }).waitFor();
    await page.getByRole('link', { name: '07700 900100' }).first().waitFor({ state: 'detached' });
    await page.getByLabel('Number, name or words').fill('table for two');
    await until(async () => page.url(), (url) => /status=failed/.test(url) && /q=table/.test(url));
    const other = await context.newPage();
    await other.goto(page.url());
    await other.getByRole('link', { name: '07700 900901' }).waitFor();
    assert.equal(await other.locator('tbody tr').count(), 1);
    const download = page.waitForEvent('download');
    // The address changes first, and the link when the list has followed.
    const link = page.getByRole('link', { name: 'Export as CSV' });
    await link.and(page.locator('[href*="q=table"]')).click();
    const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n');
    assert.equal(lines.length, 2);
    assert.match(lines[0], /^id,direction,status,to,from,body/);
  });

job(here, 'a message shows its timeline, and can be cancelled while it waits', 'live',
  '/console/messages?status=scheduled', async (page, server) => {
    await page.getByRole('row', { name: /07700 900101/ }).getByRole('link').click();
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    const time = page.locator('.facts time').first();
    assert.match(await time.getAttribute('title') ?? '', /\w+day,? \d+ \w+ \d{4}.*London time/);
    await page.getByText('The same with the API').click();
    await page.getByText(/curl -s '.*\/api\/v1\/messages\/msg_/).waitFor();
    await page.getByRole('button', { name: 'Cancel this message' }).click();
    await page.getByRole('dialog').getByText('1 credit will be refunded.').waitFor();
    await page.getByRole('button', { name: 'Cancel the message' }).click();
    await page.locator('.timeline').getByText('Cancelled').waitFor();
    assert.equal((await server.api('GET', '/messages?status=scheduled')).data.length, 0);
  });

job(here, 'the list of messages has pages', 'live', '/console/messages?q=Page',
  async (page, server) => {
    const to = Array.from({ length: 60 }, (_, index) => `07702 ${String(200_000 + index)}`);
    await server.api('POST', '/messages', { to, body: 'Page after page' });
    await page.reload();
    /** @type {string[]} */
    const seen = [];
    for (const count of [25, 25, 10]) {
      await until(() => page.locator('tbody tr').count(), (rows) => rows === count);
      seen.push(...await page.locator('.row-link').allInnerTexts());
      const older = page.getByRole('link', { name: 'Older' });
      if (seen.length === 60) assert.equal(await older.count(), 0);
      else await Promise.all([page.waitForURL(/cursor=/), older.click()]);
    }
    assert.equal(new Set(seen).size, 60);
    await page.getByRole('link', { name: 'Newest' }).click();
    await until(() => page.locator('tbody tr').count(), (rows) => rows === 25);
  });

job(here, 'the home page shows figures and what needs attention',
  'live', '/console', async (page) => {
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await page.getByText('was rejected: Not the name you trade by').waitFor();
  await page.getByText(/enough for \d+ messages of one part/).waitFor();
  await page.getByRole('img', { name: /Messages by day: Sent \d+, Received \d+/ }).waitFor();
  await page.getByText('Your numbers').waitFor();
  await page.getByRole('link', { name: 'Today' }).click();
  await page.getByRole('link', { name: 'Today' }).and(page.locator('[aria-current]')).waitFor();
});

/**
 * An account with all that needs attention, and with two numbers: one that is checked in, and one
 * whose rent it cannot pay.
 * @param {import('../src/server.js').Server} operators
 */
async function accountInTrouble(operators) {
  const { operator } = operators;
  const { id } = (await operator('POST', '/accounts', {
    name: 'Quayside', status: 'active', credits: 20,
  })).data;
  const { key } = (await operator('POST', `/accounts/${id}/keys`, { kind: 'live' })).data;
  const online = (await operator('POST', '/numbers', {
    phone_number: '07700 900011', account_id: id,
  })).data;
  await operator('POST', `/numbers/${online.id}/check-in`, {});
  await operator('POST', '/numbers', {
    phone_number: '07700 900012', account_id: id, rental_credits: 500,
  });
  const server = serverFor(operators, key);
  await server.api('POST', '/webhooks', {
    url: 'http://127.0.0.1:9/off', events: ['message.failed'], enabled: false,
  });
  const name = (await server.api('POST', '/sender-ids', { value: 'Quay', purpose: 'Ads' })).data;
  await operator('POST', `/sender-ids/${name.id}/reject`, { reason: 'Not yours' });
  await server.api('POST', '/messages', {
    to: ['07700 900701', '07700 900702', '07700 900901'], body: 'Two arrive, one fails',
  });
  await until(async () => (await server.api('GET', '/stats/summary')).data,
    (figures) => figures.delivered === 2 && figures.failed === 1);
  return server;
}

test('home lists what needs attention, the numbers, and the figures of the API', async () => {
  const server = await accountInTrouble(here.server);
  const { page, context, alarms } = await pageOpen(here.browser, server);
  await signIn(page, server);
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  const items = page.getByRole('listitem').filter({ hasText: /failed|is off|rejected|overdue/ });
  assert.deepEqual(await items.allInnerTexts(), [
    '1 message created in the last day failed. It was refunded.',
    'The endpoint http://127.0.0.1:9/off is off.',
    'The sender name Quay was rejected: Not yours',
    'The rent of 07700 900012 is overdue: 500 credits. It is taken as soon as the balance allows.',
  ]);
  const numbers = page.locator('section').filter({ hasText: 'Your numbers' });
  const phones = await numbers.getByRole('term').allInnerTexts();
  const states = await numbers.getByRole('definition').allInnerTexts();
  assert.deepEqual(phones.map((phone, index) => `${phone}: ${states[index]}`).sort(), [
    '07700 900011: Online Free', '07700 900012: Offline 500 credits every 30 days',
  ]);
  const { credits } = (await server.api('GET', '/balance')).data;
  const { sent, delivered, failed, received } = (await server.api('GET', '/stats/summary')).data;
  assert.ok(credits < 20);
  for (const [name, figure] of Object.entries({
    Balance: credits, Sent: sent, Delivered: delivered, Failed: failed, Received: received,
  })) {
    const stat = page.locator('.stat').filter({ has: page.getByText(name, { exact: true }) });
    assert.equal(await stat.locator('.stat-value').innerText(), String(figure), name);
  }
  assert.deepEqual(alarms, []);
  await context.close();
});

/** Adds a template, changes it and deletes it. @param {import('playwright-core').Page} page */
async function templateLife(page) {
  await page.getByRole('link', { name: 'Add a template' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Late');
  await page.getByRole('textbox', { name: 'Text' }).fill('We run ten minutes late.');
  await page.getByRole('button', { name: 'Add the template' }).click();
  await page.getByRole('status').getByText('The template is saved.').waitFor();
  await page.getByRole('link', { name: 'Edit Late' }).click();
  await page.getByRole('textbox', { name: 'Text' }).fill('We run twenty minutes late.');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('We run twenty minutes late.').waitFor();
}

/** @param {import('playwright-core').Page} page */
async function templateDelete(page) {
  await page.getByRole('button', { name: 'Delete Late' }).click();
  await page.getByRole('button', { name: 'Delete the template' }).click();
  await page.getByText('We run twenty minutes late.').waitFor({ state: 'detached' });
}

job(here, 'a template is added, changed, used and deleted', 'live', '/console/templates',
  async (page) => {
    await templateLife(page);
    await page.getByRole('link', { name: 'Use Late' }).click();
    await page.getByRole('heading', { name: 'Compose' }).waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(),
      'We run twenty minutes late.');
    await page.goBack();
    await page.getByLabel('Name or words').fill('twenty');
    await page.getByText('Table ready').first().waitFor({ state: 'detached' });
    assert.match(page.url(), /q=twenty/);
    await templateDelete(page);
  });

job(here, 'a template is added, changed and deleted without script', 'live', '/console/templates',
  async (page) => {
    await templateLife(page);
    await page.getByLabel('Name or words').fill('twenty');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('Table ready').first().waitFor({ state: 'detached' });
    await templateDelete(page);
  }, { javaScriptEnabled: false });

job(here, 'a template that cannot be saved keeps its input and shows its errors', 'live',
  '/console/templates/new', async (page) => {
    await page.getByLabel('Name', { exact: true }).evaluate((/** @type {any} */ input) => {
      input.maxLength = 999;
    });
    await page.getByLabel('Name', { exact: true }).fill('n'.repeat(201));
    await page.getByRole('textbox', { name: 'Text' }).fill('Kept');
    await page.getByRole('button', { name: 'Add the template' }).click();
    await page.getByRole('alert').getByText('One field needs another value.').waitFor();
    const name = page.getByLabel('Name', { exact: true });
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
    await page.getByText('Name must have at most 200 characters.').waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Text' }).inputValue(), 'Kept');
    await name.fill('Shorter');
    await page.getByRole('button', { name: 'Add the template' }).click();
    await page.getByRole('row', { name: /Shorter Kept/ }).waitFor();
  });

job(here, 'a keyword is added and deleted, and a reserved one is refused', 'live',
  '/console/keywords', async (page) => {
    await page.getByRole('link', { name: 'Add a keyword' }).click();
    await page.getByRole('textbox', { name: 'Keyword' }).fill('STOP');
    await page.getByRole('button', { name: 'Add the keyword' }).click();
    await page.getByRole('alert').getByText('This word opts people out or in').waitFor();
    await page.getByRole('textbox', { name: 'Keyword' }).fill('wine');
    await page.getByRole('textbox', { name: 'Reply' }).fill('Red or white?');
    await page.getByLabel('Add the sender to').selectOption({ label: 'Regulars' });
    await page.getByRole('button', { name: 'Add the keyword' }).click();
    await page.getByRole('row', { name: /WINE Red or white\? Regulars/ }).waitFor();
    await page.getByRole('link', { name: 'Edit WINE' }).click();
    await page.getByLabel('On', { exact: true }).uncheck();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /WINE Off Red or white\?/ }).waitFor();
    await page.getByRole('button', { name: 'Delete WINE' }).click();
    await page.getByRole('button', { name: 'Delete the keyword' }).click();
    await page.getByText('Red or white?').waitFor({ state: 'detached' });
  });

job(here, 'an opt-out is added, found, and removed after a confirmation',
  'live', '/console/opt-outs',
  async (page, server) => {
    await page.getByText('They texted STOP').first().waitFor();
    await page.getByRole('link', { name: 'Add a number' }).click();
    await page.getByLabel('Mobile number').fill('07700 900501');
    await page.getByRole('button', { name: 'Never text this number' }).click();
    await page.getByRole('row', { name: /07700 900501 Added here/ }).waitFor();
    await page.getByLabel('Number or note').fill('07700 900501');
    await page.getByText('They texted STOP').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Remove 07700 900501' }).click();
    await page.getByText('Do this only if the person has asked').waitFor();
    await page.getByRole('button', { name: 'They asked for it' }).click();
    await page.getByText('07700 900501').first().waitFor({ state: 'detached' });
    assert.equal((await server.api('GET', '/opt-outs?q=07700900501')).meta.total, 0);
  });

job(here, 'a sender name is requested, and its review is visible', 'live', '/console/senders',
  async (page) => {
    await page.getByText('Not the name you trade by').waitFor();
    await page.getByRole('link', { name: 'Ask for a name' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Terrace');
    await page.getByLabel('What you use it for').fill('The summer bar');
    await page.getByRole('button', { name: 'Ask for it' }).click();
    await page.getByRole('row', { name: /Terrace Pending/ }).waitFor();
  });

job(here, 'clicks on tracked links are counted for each person', 'live', '/console/links',
  async (page) => {
    await page.getByText('https://example.com/menu').first().waitFor();
    await page.getByText('Not opened').first().waitFor();
  });

job(here, 'light and dark can be chosen, and stay chosen', 'live', '/console', async (page) => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByLabel('Colours').selectOption('dark');
  const dark = await paper();
  assert.notEqual(light, dark);
  await page.reload();
  await page.getByLabel('Colours').waitFor();
  assert.equal(await paper(), dark);
});

job(here, 'a page shows that the server fails, and retries', 'live', '/console/templates',
  async (page) => {
    const look = () => page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await page.route('**/console/templates*', (route) => route.fulfill({ status: 500 }));
    await look();
    await page.getByRole('alert').getByText('Offline: the server does not answer').waitFor();
    await page.getByText('Table ready').first().waitFor();
    await page.unroute('**/console/templates*');
    await look();
    await page.getByText('Offline:').waitFor({ state: 'detached' });
  });
