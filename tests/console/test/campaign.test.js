// Campaigns: drafted, priced, launched once, watched, cancelled.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageOpen, signIn } from '../src/browser.js';
import { historyMake } from '../src/history.js';
import { tabTo } from '../src/keyboard.js';
import { errorShown, job, stage, until } from '../src/setup.js';

/** @type {any} */
let facts;
const here = stage({}, async (server) => {
  facts = await historyMake(server);
});
const withoutScript = { javaScriptEnabled: false };

/** @param {import('playwright-core').Page} page @param {RegExp | string} name */
const inDialog = (page, name) => page.getByRole('dialog').getByRole('button', { name });

/** @param {string} name @param {Record<string, unknown>} [fields] */
async function draft(name, fields = {}) {
  return (await here.server.api('POST', '/campaigns', {
    name, list_id: facts.list.id, body: 'Hello {first_name}', ignore_quiet_hours: true, ...fields,
  })).data;
}

/** @param {{id: string}} campaign */
const messagesOf = async (campaign) => (
  await here.server.api('GET', `/messages?campaign_id=${campaign.id}&limit=100`)).data;

/** Cancels the campaign that the page shows. @param {import('playwright-core').Page} page */
async function cancelShown(page) {
  await page.getByRole('button', { name: 'Cancel the campaign' }).click();
  await page.getByRole('dialog').getByText('About 8 messages').waitFor();
  await inDialog(page, 'Cancel the campaign').click();
  await page.getByText('8 messages were cancelled and refunded.').waitFor();
}

/** @param {import('../src/server.js').Server} server @param {{id: string}} campaign */
async function isCancelled(server, campaign) {
  const { data } = await server.api('GET', `/campaigns/${campaign.id}`);
  return data.status === 'cancelled';
}

/** Two days from now, as a field for date and time has it. */
const later = () => `${new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)}T12:30`;

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
    await page.locator('.big-price').filter({ hasText: '8 credits' }).waitFor();
    await page.getByRole('button', { name: 'Save the draft' }).click();
    await page.getByText('A draft: nothing has been sent.').waitFor();
    await page.getByRole('link', { name: 'Launch…' }).click();
    await page.getByText('It goes to 8 people.').waitFor();
    await page.getByText('8 credits', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Launch for 8 credits' }).click();
    await page.getByText('Messages processed: 8 of 8').waitFor();
    await until(() => page.locator('.stat').filter({ hasText: /^Delivered/ }).innerText(),
      (text) => /\b8\b/.test(text));
    const link = (await server.api('GET', '/links')).data[0];
    await fetch(link.short_url, { redirect: 'manual' });
    await page.getByRole('link', { name: '1 click' }).waitFor();
  });

job(here, 'an unsaved draft survives a reload, and disappears once it is saved', 'live',
  '/console/campaigns/new', async (page, server) => {
    const name = page.getByLabel('Name');
    const message = page.getByRole('textbox', { name: 'Message' });
    await name.fill('Half written');
    await message.fill('Come – and “bring” the dog');
    await page.reload();
    await until(() => name.inputValue(), (text) => text === 'Half written');
    await page.getByRole('button', { name: 'Use plain characters' }).click();
    await until(() => message.inputValue(), (text) => text === 'Come - and "bring" the dog');
    await page.getByLabel('Audience').selectOption({ label: 'Regulars (8 contacts)' });
    await page.getByRole('button', { name: 'Save the draft' }).click();
    await page.getByText('A draft: nothing has been sent.').waitFor();
    const [campaign] = (await server.api('GET', '/campaigns')).data;
    assert.equal(campaign.body, 'Come - and "bring" the dog');
    await page.goto(`${server.base}/console/campaigns/new`);
    await page.getByText('Choose a list and write a message').waitFor();
    assert.equal(await name.inputValue(), '');
  });

test('two tabs that launch a campaign at once send it once, and the second says so', async () => {
  const campaign = await draft('Raced');
  const { page: one, context, alarms } = await pageOpen(here.browser, here.server);
  const path = `/console/campaigns/${campaign.id}`;
  await signIn(one, here.server, 'live', path);
  const two = await context.newPage();
  await two.goto(here.server.base + path);
  for (const page of [one, two]) {
    await page.getByRole('link', { name: 'Launch…' }).click();
    await page.getByRole('button', { name: 'Launch for 8 credits' }).waitFor();
  }
  await Promise.all([one, two].map((page) => (
    page.getByRole('button', { name: 'Launch for 8 credits' }).click())));
  for (const page of [one, two]) await page.getByText('Messages processed').waitFor();
  const told = await Promise.all([one, two].map((page) => (
    page.getByRole('alert').filter({ hasText: /already/ }).count())));
  assert.deepEqual(told.sort(), [0, 1]);
  assert.equal((await messagesOf(campaign)).length, 8);
  assert.deepEqual(alarms, []);
  await context.close();
});

test('a launch whose answer was lost happens once, and going back shows it', async () => {
  const campaign = await draft('Lost answer');
  const { page, context } = await pageOpen(here.browser, here.server);
  await signIn(page, here.server, 'live', `/console/campaigns/${campaign.id}/launch`);
  /** @type {string[]} */
  const bodies = [];
  await page.route('**/campaigns/*/launch', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    bodies.push(route.request().postData() ?? '');
    // Playwright's own request lacks what a browser adds to that of a form.
    const headers = { ...route.request().headers(), origin: here.server.base };
    await route.fetch({ maxRedirects: 0, headers });
    return route.abort();
  });
  await page.getByRole('button', { name: 'Launch for 8 credits' }).click({ noWaitAfter: true });
  await until(messagesOf.bind(null, campaign), (messages) => messages.length === 8);
  await errorShown(page);
  // The browser asks whether to send the form again, and does: it gets the first one's answer.
  const again = await context.request.post(
    `${here.server.base}/console/campaigns/${campaign.id}/launch`, {
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded', Origin: here.server.base,
      },
      data: bodies[0], maxRedirects: 0,
    });
  assert.equal(again.status(), 303);
  assert.match(again.headers().location, /said=campaign-launched$/);
  // Whoever opens the page of the launch anew is led to what became of it.
  await page.goto(`${here.server.base}/console/campaigns/${campaign.id}/launch`);
  await page.getByText('Messages processed').waitFor();
  assert.equal((await messagesOf(campaign)).length, 8);
  await context.close();
});

test('a launch that never arrived takes the time of the repeated form', async () => {
  const campaign = await draft('Never arrived');
  const { page, context } = await pageOpen(here.browser, here.server);
  const path = `/console/campaigns/${campaign.id}/launch`;
  await signIn(page, here.server, 'live', path);
  let lost = 0;
  await page.route('**/campaigns/*/launch', (route) => {
    if (route.request().method() !== 'POST' || lost > 0) return route.continue();
    lost += 1;
    return route.abort();
  });
  await page.getByLabel('Send at').fill(later());
  await page.getByRole('button', { name: 'Launch for 8 credits' }).click({ noWaitAfter: true });
  await errorShown(page);
  assert.equal(lost, 1);
  await page.goto(here.server.base + path);
  assert.equal(await page.getByLabel('Send at').inputValue(), '');
  await page.getByRole('button', { name: 'Launch for 8 credits' }).click();
  await page.getByText('Messages processed').waitFor();
  const { data } = await here.server.api('GET', `/campaigns/${campaign.id}`);
  assert.equal(data.scheduled_at, null);
  await context.close();
});

job(here, 'a launch asks again if its price has changed', 'live',
  '/console/campaigns', async (page, server) => {
    const list = (await server.api('POST', '/lists', { name: 'Growing' })).data;
    await server.api('POST', `/lists/${list.id}/contacts`, { phones: ['07700 900100'] });
    const campaign = await draft('Dearer', { list_id: list.id });
    await page.goto(`${server.base}/console/campaigns/${campaign.id}/launch`);
    const one = page.getByRole('button', { name: 'Launch for 1 credit', exact: true });
    await one.waitFor();
    await server.api('POST', `/lists/${list.id}/contacts`, { phones: ['07700 900101'] });
    await page.getByLabel('Send at').fill(later());
    await one.click();
    await page.getByRole('alert').filter({ hasText: '2 credits' }).waitFor();
    assert.equal((await messagesOf(campaign)).length, 0);
    assert.match(await page.getByLabel('Send at').inputValue(), /T12:30$/);
    await page.getByRole('button', { name: 'Launch for 2 credits' }).click();
    await page.getByText(/Goes at 12:30 on .*, London time\./).waitFor();
    assert.equal((await messagesOf(campaign)).length, 2);
  });

job(here, 'a scheduled campaign shows its time, and can be cancelled', 'live',
  '/console/campaigns', async (page, server) => {
    const campaign = await draft('Later');
    await page.goto(`${server.base}/console/campaigns/${campaign.id}/launch`);
    await page.getByText('It would be sent now.').waitFor();
    await page.getByLabel('Send at').fill(later());
    await page.getByText(/It would be sent at 12:30 on .*, London time\./).waitFor();
    await page.getByRole('button', { name: 'Launch for 8 credits' }).click();
    await page.getByText(/Goes at 12:30 on .*, London time\./).waitFor();
    await cancelShown(page);
    assert.ok(await isCancelled(server, campaign));
  });

job(here, 'a campaign is launched with the keyboard alone', 'live', '/console/campaigns',
  async (page) => {
    const campaign = await draft('By keyboard');
    await page.reload();
    await tabTo(page, 'By keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'By keyboard' }).waitFor();
    await tabTo(page, 'Launch…');
    await page.keyboard.press('Enter');
    await page.getByText('It goes to 8 people.').waitFor();
    await tabTo(page, 'Launch for 8 credits');
    await page.keyboard.press('Enter');
    await page.getByText('Messages processed').waitFor();
    assert.equal((await messagesOf(campaign)).length, 8);
  });

job(here, 'a draft that another tab launched can be cancelled in this tab', 'live',
  '/console/campaigns', async (page, server, context) => {
    const campaign = await draft('Open in two tabs');
    const path = `${server.base}/console/campaigns/${campaign.id}`;
    await page.goto(path);
    await page.getByText('A draft: nothing has been sent.').waitFor();
    const other = await context.newPage();
    await other.goto(`${path}/launch`);
    await other.getByLabel('Send at').fill(later());
    await other.getByRole('button', { name: 'Launch for 8 credits' }).click();
    await other.getByText(/Goes at 12:30 on .*, London time\./).waitFor();
    await page.bringToFront();
    await cancelShown(page);
    assert.ok(await isCancelled(server, campaign));
  });

job(here, 'a draft keeps its sender name when it is saved after the name was rejected', 'live',
  '/console/campaigns', async (page, server) => {
    const name = (await server.api('POST', '/sender-ids', {
      value: 'Pantry', purpose: 'Offers',
    })).data;
    await server.operator('POST', `/sender-ids/${name.id}/approve`, {});
    const campaign = await draft('From a name');
    const path = `${server.base}/console/campaigns/${campaign.id}/edit`;
    await page.goto(path);
    await page.getByLabel('Send from').selectOption({ label: 'Pantry' });
    await page.getByRole('button', { name: 'Save the draft' }).click();
    await page.getByText('A draft: nothing has been sent.').waitFor();
    const stored = async () => (await server.api('GET', `/campaigns/${campaign.id}`)).data;
    assert.equal((await stored()).sender, 'Pantry');
    await server.operator('POST', `/sender-ids/${name.id}/reject`, { reason: 'Lapsed' });
    await page.goto(path);
    const shown = page.getByLabel('Send from').locator('option:checked');
    assert.equal(await shown.innerText(), 'Pantry (not approved)');
    await page.getByLabel('Name').fill('From a rejected name');
    await page.getByRole('button', { name: 'Save the draft' }).click();
    await page.getByRole('heading', { name: 'From a rejected name' }).waitFor();
    const saved = await stored();
    assert.equal(saved.name, 'From a rejected name');
    assert.equal(saved.sender, 'Pantry');
  });

job(here, 'a campaign is drafted, launched and cancelled without script', 'live',
  '/console/campaigns', async (page, server) => {
    await page.getByRole('link', { name: 'Draft a campaign' }).click();
    await page.getByLabel('Name').fill('Quiet week');
    await page.getByLabel('Audience').selectOption({ label: 'Regulars (8 contacts)' });
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello {first_name}, come by');
    await page.getByRole('button', { name: 'Show the price' }).click();
    await page.getByText('Hello Front, come by').waitFor();
    await page.locator('.big-price').filter({ hasText: '8 credits' }).waitFor();
    await page.getByRole('button', { name: 'Save the draft' }).click();
    await page.getByRole('link', { name: 'Launch…' }).click();
    await page.getByLabel('Send at').fill(later());
    await page.getByRole('button', { name: 'Launch for 8 credits' }).click();
    await page.getByText(/Goes at 12:30 on .*, London time\./).waitFor();
    await cancelShown(page);
    const [campaign] = (await server.api('GET', '/campaigns')).data;
    assert.ok(await isCancelled(server, campaign));
  }, withoutScript);

test('quiet hours are explained in words', async () => {
  const { page, context } = await pageOpen(here.browser, here.server);
  const account = (await here.server.operator('GET', '/accounts')).data[0];
  // The whole day but one minute is quiet. The minute is never soon, and every day has it once, also
  // those on which the clocks change.
  const now = new Date().toLocaleTimeString('en-GB', {
    timeZone: 'Europe/London', hour: '2-digit', minute: '2-digit',
  });
  const isSoon = now > '12:10' && now < '12:40';
  const [begin, end] = isSoon ? ['15:30', '15:31'] : ['12:30', '12:31'];
  // Midnight may pass before the page is read.
  const day = now > '23:45' ? '(today|tomorrow)' : now < begin ? 'today' : 'tomorrow';
  const { settings } = account;
  await here.server.operator('PATCH', `/accounts/${account.id}`, {
    settings: { quiet_hours_start: end, quiet_hours_end: begin },
  });
  const campaign = (await here.server.api('POST', '/campaigns', {
    name: 'At night', list_id: facts.list.id, body: 'Good morning',
  })).data;
  await signIn(page, here.server, 'live', `/console/campaigns/${campaign.id}`);
  await page.getByRole('link', { name: 'Launch…' }).click();
  await page.getByText(`Quiet hours are on, from ${end} to ${begin}`).waitFor();
  await page.getByText(new RegExp(`it would be sent at ${begin} ${day}, London time\\.`)).waitFor();
  await page.getByRole('button', { name: 'Launch for 8 credits' }).click();
  await page.getByText('Quiet hours are on: it waits until they end.').waitFor();
  await page.getByText(new RegExp(`Goes at ${begin} ${day}, London time\\.`)).waitFor();
  await here.server.operator('PATCH', `/accounts/${account.id}`, {
    settings: {
      quiet_hours_start: settings.quiet_hours_start, quiet_hours_end: settings.quiet_hours_end,
    },
  });
  await context.close();
});
