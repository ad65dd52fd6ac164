// Every text of a message or a contact is shown as text, in every view.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browserStart, pageOpen, signIn } from '../src/browser.js';
import { everyPage, pageSettled, pendingAccount } from '../src/pages.js';
import { serverStart } from '../src/server.js';

const ATTACK = '<img src=x onerror="window.attacked=1">';
const NAME = '<svg onload="window.attacked=2">';

/** @type {import('../src/server.js').Server} */
let server;
/** @type {import('playwright-core').Browser} */
let browser;
/** @type {import('../src/pages.js').PageOf[]} */
let pages;

before(async () => {
  server = await serverStart();
  browser = await browserStart();
  const { api, operator } = server;
  const own = (await operator('GET', '/numbers')).data[0].phone_number;
  const list = (await api('POST', '/lists', { name: NAME, description: ATTACK })).data;
  const phone = '+447700900100';
  const contacts = (await api('POST', '/contacts/import', {
    list_id: list.id,
    rows: [{
      phone, first_name: NAME, last_name: ATTACK, notes: ATTACK, custom: { table: ATTACK },
    }],
  })).data.rows;
  await api('POST', '/templates', { name: NAME, body: ATTACK });
  await api('POST', '/keywords', { keyword: 'MENU', reply: ATTACK });
  await api('POST', '/opt-outs', { phone: '07700 900190', note: ATTACK });
  const sender = (await api('POST', '/sender-ids', { value: 'Bistro', purpose: ATTACK })).data;
  await operator('POST', `/sender-ids/${sender.id}/reject`, { reason: ATTACK });
  await api('POST', '/sender-ids', { value: 'Harbour', purpose: ATTACK });
  await api('POST', '/messages', { to: phone, body: ATTACK, client_ref: '<b>4711</b>' });
  await operator('POST', '/inbound', { from: phone, to: own, body: ATTACK });
  const campaign = (await api('POST', '/campaigns', {
    name: NAME, list_id: list.id, body: `${ATTACK} https://example.com/?q=<b>`, track_links: true,
    ignore_quiet_hours: true,
  })).data;
  await api('POST', `/campaigns/${campaign.id}/send`, {});
  const webhook = (await api('POST', '/webhooks', {
    url: 'http://127.0.0.1:9/hooks', events: ['message.received'], description: ATTACK,
  })).data;
  const pending = await pendingAccount(server, ATTACK);
  const shared = (await operator('POST', '/numbers', { phone_number: '07700 900002' })).data;
  await operator('POST', '/inbound', {
    from: '07700 900777', to: shared.phone_number, body: ATTACK,
  });
  const account = (await operator('GET', '/accounts')).data
    .find((/** @type {any} */ one) => one.name !== ATTACK).id;
  await operator('PATCH', `/accounts/${account}`, {
    name: NAME, settings: { opt_out_line: ATTACK },
  });
  await operator('POST', `/accounts/${account}/keys`, { kind: 'test', name: ATTACK });
  await operator('POST', `/accounts/${account}/credits`, { amount: 5, note: ATTACK });
  const message = (await api('GET', '/messages?direction=outbound')).data.at(-1).id;
  pages = await everyPage(server, { list, campaign, webhook, contacts }, message, account, pending);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Pages that have nothing of this to show. */
const WITHOUT = new Set(['sign-in', 'design', 'home', 'nowhere', 'operator-routes',
  'operator-sandbox', 'operator-numbers', 'operator-account-new', 'operator-key-new', 'links',
  'contact-new', 'list-new']);

for (const who of /** @type {const} */ (['live', 'operator'])) {
  test(`markup in a text is shown as text on every page: ${who}`, async () => {
    const { page, context, alarms } = await pageOpen(browser, server);
    await signIn(page, server, who);
    for (const { name, path } of pages.filter((one) => one.who === who)) {
      await page.goto(server.base + path);
      await pageSettled(page);
      const found = await page.evaluate(() => ({
        attacked: Reflect.get(window, 'attacked'),
        made: document.querySelectorAll('img[src="x"], [onerror], [onload], dd b, td b').length,
        // Options and what is folded are part of the page as well.
        text: document.body.textContent ?? '',
        values: [...document.querySelectorAll('textarea, input')].map((one) => (
          /** @type {HTMLInputElement} */ (one).value)).join(' '),
      }));
      assert.equal(found.attacked, undefined, name);
      assert.equal(found.made, 0, name);
      const shown = found.text + found.values;
      if (!WITHOUT.has(name)) assert.match(shown, /<(img|svg|b)\b/, `${name} shows the words`);
    }
    assert.deepEqual(alarms, []);
    await context.close();
  });
}

test('markup in a text is shown as text in previews, quotes and imports', async () => {
  const { page, context, alarms } = await pageOpen(browser, server);
  await signIn(page, server, 'live', '/console/compose');
  await page.getByLabel('A list').selectOption({ index: 1 });
  await page.getByRole('textbox', { name: 'Message' }).fill(`{first_name} ${ATTACK}`);
  await page.locator('.preview').first().getByText(ATTACK).waitFor();
  await page.getByText('Read it as somebody else').click();
  await page.getByLabel('Person').selectOption({ index: 1 });
  await page.locator('details .preview').getByText(ATTACK).waitFor();
  await page.getByRole('button', { name: /^Send 1 message/ }).click();
  await page.getByRole('heading', { name: 'Send this message?' }).waitFor();
  await page.getByRole('main').getByText(ATTACK).first().waitFor();
  assert.equal(await page.locator('img[src="x"], [onload]').count(), 0);
  await page.goto(`${server.base}/console/contacts/new`);
  await page.getByLabel('Mobile number').fill('020 7946 0000');
  await page.getByLabel('First name').fill(NAME);
  await page.getByRole('button', { name: 'Add the contact' }).click();
  await page.locator('.problem:visible').waitFor();
  assert.equal(await page.getByLabel('First name').inputValue(), NAME);
  assert.equal(await page.locator('img[src="x"], [onload]').count(), 0);
  await page.goto(`${server.base}/console/contacts/import`);
  await page.getByLabel('CSV file').setInputFiles({
    name: `${NAME}.csv`, mimeType: 'text/csv',
    buffer: Buffer.from(`phone,${NAME}\n${ATTACK.replaceAll('"', '""')},x\n`),
  });
  await page.getByRole('button', { name: 'Import 1 row' }).click();
  await page.getByRole('heading', { name: '1 row left out' }).waitFor();
  assert.equal(await page.evaluate(() => Reflect.get(window, 'attacked')), undefined);
  assert.equal(await page.locator('img[src="x"]').count(), 0);
  assert.deepEqual(alarms, []);
  await context.close();
});

test('markup that the operator types is shown as text, in questions and where forms come back',
  async () => {
    const { page, context, alarms } = await pageOpen(browser, server);
    const path = `/console/operator/accounts/${await pendingAccount(server, NAME)}`;
    await signIn(page, server, 'operator', path);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('dialog', { name: `Let “${NAME}” send?` }).waitFor();
    await page.getByRole('button', { name: 'Let it send' }).click();
    await page.getByText('Active', { exact: true }).waitFor();

    await page.getByRole('link', { name: 'Top up' }).click();
    await page.getByRole('heading', { name: `Top up “${NAME}”` }).waitFor();
    await page.getByLabel('Credits').fill('-5');
    await page.getByLabel('Note').fill(ATTACK);
    await page.getByRole('button', { name: 'Change the balance' }).click();
    await page.getByRole('alert').getByText(/balance/).waitFor();
    assert.equal(await page.getByLabel('Note').inputValue(), ATTACK);
    await page.getByLabel('Credits').fill('5');
    await page.getByRole('button', { name: 'Change the balance' }).click();
    await page.getByRole('cell', { name: ATTACK }).waitFor();

    await page.getByRole('link', { name: 'Make a key' }).click();
    await page.getByLabel('Name').fill(ATTACK);
    await page.getByRole('button', { name: 'Make the key' }).click();
    await page.getByRole('link', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: `Revoke ${ATTACK}` }).click();
    await page.getByRole('dialog', { name: `Revoke the key “${ATTACK}”?` }).waitFor();

    await page.goto(`${server.base}/console/operator/accounts/new`);
    await page.getByLabel('Name').fill(ATTACK);
    await page.getByLabel('Credits').fill('-1');
    await page.getByRole('button', { name: 'Add the account' }).click();
    await page.getByText('Give a whole number, 0 or more.').first().waitFor();
    assert.equal(await page.getByLabel('Name').inputValue(), ATTACK);

    assert.equal(await page.evaluate(() => Reflect.get(window, 'attacked')), undefined);
    assert.equal(await page.locator('img[src="x"], [onload]').count(), 0);
    assert.deepEqual(alarms, []);
    await context.close();
  });
