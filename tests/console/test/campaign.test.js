// Campaigns: drafted, priced, launched once, watched, cancelled.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageOpen, signIn } from '../src/browser.js';
import { historyMake } from '../src/history.js';
import { job, stage, until } from '../src/setup.js';

/** @type {any} */
let facts;
const here = stage({}, async (server) => {
  facts = await historyMake(server);
});

/** @param {import('playwright-core').Page} page @param {RegExp | string} name */
const inDialog = (page, name) => page.getByRole('dialog').getByRole('button', { name });

/** @param {string} name */
async function draft(name) {
  return (await here.server.api('POST', '/campaigns', {
    name, list_id: facts.list.id, body: 'Hello {first_name}', ignore_quiet_hours: true,
  })).data;
}

job(here, 'a campaign is drafted, priced, launched and watched', 'live', '/console/campaigns',
  async (page, server) => {
    await page.getByRole('link', { name: 'Draft a campaign' }).click();
    await page.getByLabel('Name').fill('Sunday roast');
    await page.getByLabel('Audience').selectOption({ label: 'Regulars (8 contacts)' });
    await page.getByRole('textbox', { name: 'Message' })
      .fill('Hello {first_name}, roast on Sunday: https://example.com/roast');
    await page.getByLabel('Shorten links and count who opens them').check();
    await page.getByLabel('Send during quiet hours too').check();
    await page.getByText('Hello Front, roast on Sunday').waitFor();
    await page.getByRole('button', { name: 'Save the draft' }).click();
    await page.getByText('A draft: nothing has been sent.').waitFor();
    await page.getByRole('button', { name: 'Launch…' }).click();
    await page.getByRole('dialog').getByText('It goes to 8 people.').waitFor();
    await page.getByRole('dialog').getByText('8 credits', { exact: true }).waitFor();
    await inDialog(page, 'Launch for 8 credits').click();
    await page.getByText('Messages that have left: 8 of 8').waitFor();
    await until(() => page.locator('.stat').filter({ hasText: /^Delivered/ }).innerText(),
      (text) => /\b8\b/.test(text));
    const link = (await server.api('GET', '/links')).data[0];
    await fetch(link.short_url, { redirect: 'manual' });
    await page.getByRole('link', { name: '1 click' }).waitFor();
  });

test('two tabs that launch at once send it once, and the second is told', async () => {
  const campaign = await draft('Raced');
  const { page: one, context, alarms } = await pageOpen(here.browser, here.server);
  const path = `/console/campaigns/${campaign.id}`;
  await signIn(one, here.server, 'live', path);
  const two = await context.newPage();
  await two.goto(here.server.base + path);
  for (const page of [one, two]) {
    await page.getByRole('button', { name: 'Launch…' }).click();
    await inDialog(page, 'Launch for 8 credits').waitFor();
  }
  await Promise.all([one, two].map((page) => inDialog(page, 'Launch for 8 credits').click()));
  for (const page of [one, two]) await page.getByText('Messages that have left').waitFor();
  const told = await Promise.all([one, two].map((page) => (
    page.getByRole('alert').filter({ hasText: /already/ }).count())));
  assert.deepEqual(told.sort(), [0, 1]);
  const sent = await here.server.api('GET', `/messages?campaign_id=${campaign.id}`);
  assert.equal(sent.data.length, 8);
  assert.deepEqual(alarms, []);
  await context.close();
});

test('a launch whose answer was lost is finished after a reload, once', async () => {
  const campaign = await draft('Lost answer');
  const { page, context } = await pageOpen(here.browser, here.server);
  await signIn(page, here.server, 'live', `/console/campaigns/${campaign.id}`);
  let lost = 0;
  await page.route('**/campaigns/*/send', async (route) => {
    if (lost > 0) return route.continue();
    lost += 1;
    await route.fetch();
    return route.abort();
  });
  await page.getByRole('button', { name: 'Launch…' }).click();
  await inDialog(page, 'Launch for 8 credits').click();
  await page.getByText('The server did not answer your last send').waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Finish sending' }).click();
  await page.getByText('Messages that have left').waitFor();
  const sent = await here.server.api('GET', `/messages?campaign_id=${campaign.id}`);
  assert.equal(sent.data.length, 8);
  await context.close();
});

job(here, 'a scheduled campaign says when it goes, and can be cancelled', 'live',
  '/console/campaigns', async (page, server) => {
    const campaign = await draft('Later');
    await page.goto(`${server.base}/console/campaigns/${campaign.id}`);
    await page.getByRole('button', { name: 'Launch…' }).click();
    const day = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
    await page.getByRole('dialog').getByLabel('Send at').fill(`${day}T12:30`);
    await page.getByRole('dialog').getByLabel('Send at').blur();
    await inDialog(page, 'Launch for 8 credits').click();
    await page.getByText(/Goes at 12:30 on .*, London time\./).waitFor();
    await page.getByRole('button', { name: 'Cancel the campaign' }).click();
    await page.getByRole('dialog').getByText('About 8 messages').waitFor();
    await inDialog(page, 'Cancel the campaign').click();
    await page.getByText('8 messages cancelled.').waitFor();
    const { data } = await server.api('GET', `/campaigns/${campaign.id}`);
    assert.equal(data.status, 'cancelled');
  });

test('quiet hours are explained in words', async () => {
  const { page, context } = await pageOpen(here.browser, here.server);
  const account = (await here.server.operator('GET', '/accounts')).data[0];
  // The whole day but one minute is quiet.
  const end = new Date(Date.now() - 60_000).toLocaleTimeString('en-GB', {
    timeZone: 'Europe/London', hour: '2-digit', minute: '2-digit',
  });
  const begin = new Date(Date.now() - 120_000).toLocaleTimeString('en-GB', {
    timeZone: 'Europe/London', hour: '2-digit', minute: '2-digit',
  });
  const { settings } = account;
  await here.server.operator('PATCH', `/accounts/${account.id}`, {
    settings: { quiet_hours_start: end, quiet_hours_end: begin },
  });
  const campaign = (await here.server.api('POST', '/campaigns', {
    name: 'At night', list_id: facts.list.id, body: 'Good morning',
  })).data;
  await signIn(page, here.server, 'live', `/console/campaigns/${campaign.id}`);
  await page.getByRole('button', { name: 'Launch…' }).click();
  await page.getByText('During quiet hours').waitFor();
  await inDialog(page, 'Launch for 8 credits').click();
  await page.getByText(/It is quiet now: it goes at \d\d:\d\d tomorrow/).waitFor();
  await page.getByText(/Goes at \d\d:\d\d tomorrow, London time\./).waitFor();
  await here.server.operator('PATCH', `/accounts/${account.id}`, {
    settings: {
      quiet_hours_start: settings.quiet_hours_start, quiet_hours_end: settings.quiet_hours_end,
    },
  });
  await context.close();
});
