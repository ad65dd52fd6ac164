// What the operator does.

import assert from 'node:assert/strict';
import { historyMake } from '../src/history.js';
import { job, stage, until } from '../src/setup.js';

/** @typedef {import('playwright-core').Page} Page */

const here = stage({}, historyMake);

/** Adds an account that waits. @param {Page} page @param {string} name */
async function accountAdd(page, name) {
  await page.getByRole('link', { name: 'Add an account' }).click();
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Add the account' }).click();
  await page.getByRole('heading', { name }).waitFor();
}

/** @param {Page} page */
async function accountApprove(page) {
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('button', { name: 'Let it send' }).click();
  await page.getByText('Active', { exact: true }).waitFor();
}

/** @param {Page} page */
async function topUpFill(page) {
  await page.getByRole('link', { name: 'Top up' }).click();
  await page.getByLabel('Credits').fill('250');
  await page.getByLabel('Note').fill('Invoice 17');
}

/** @param {Page} page */
async function topUpShown(page) {
  await page.getByText('250 credits', { exact: true }).waitFor();
  await page.getByRole('row', { name: /Top up \+250 250 Invoice 17/ }).waitFor();
}

job(here, 'an account is added, approved, topped up, given a key and suspended', 'operator',
  '/console/operator/accounts', async (page, server) => {
    await accountAdd(page, 'Corner café');
    await accountApprove(page);
    await topUpFill(page);
    await page.getByRole('button', { name: 'Change the balance' }).dblclick();
    await topUpShown(page);

    await page.getByRole('link', { name: 'Make a key' }).click();
    await page.getByLabel('Kind').selectOption('live');
    await page.getByRole('button', { name: 'Make the key' }).click();
    await page.getByRole('heading', { name: 'The new key' }).waitFor();
    const key = await page.locator('main code').innerText();
    assert.match(key, /^cc_live_/);
    assert.ok(!page.url().includes(key));
    await page.getByRole('link', { name: 'I have copied it' }).click();
    await page.getByRole('row', { name: new RegExp(`cc_live_…${key.slice(-4)}`) }).waitFor();
    assert.ok(!(await page.content()).includes(key));
    const balance = () => fetch(`${server.base}/api/v1/balance`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    assert.equal((await (await balance()).json()).data.credits, 250);
    await page.getByRole('button', { name: /^Revoke/ }).click();
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
    assert.equal((await balance()).status, 401);

    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Quiet hours begin').fill('22:30');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('22:30 to 09:00, London time').waitFor();
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('button', { name: 'Suspend the account' }).click();
    await page.getByText('Suspended', { exact: true }).waitFor();
  });

job(here, 'an account is added, approved and topped up without script', 'operator',
  '/console/operator/accounts', async (page) => {
    await accountAdd(page, 'Harbour bar');
    await accountApprove(page);
    await topUpFill(page);
    await page.getByRole('button', { name: 'Change the balance' }).click();
    await topUpShown(page);
  }, { javaScriptEnabled: false });

job(here, 'a form that is sent twice tops up once, and creates one key that is shown once',
  'operator', '/console/operator/accounts', async (page, server, context) => {
    await accountAdd(page, 'Night kitchen');
    const account = page.url().split('?')[0];
    /** @param {string} path @param {Record<string, string>} typed */
    const twice = async (path, typed) => {
      await page.goto(`${account}/${path}`);
      /** @param {string} name */
      const hidden = (name) => page.locator(`form[aria-label] input[name="${name}"]`).inputValue();
      const form = { ...typed, csrf: await hidden('csrf'), key: await hidden('key') };
      const send = () => context.request.post(`${account}/${path}`, {
        form, headers: { origin: server.base }, maxRedirects: 0,
      });
      return [await send(), await send()];
    };
    const topped = await twice('credits', { amount: '40', note: 'Once' });
    assert.deepEqual(topped.map((answer) => answer.status()), [303, 303]);
    const made = await twice('keys/new', { kind: 'test', name: 'Twice' });
    assert.deepEqual(made.map((answer) => answer.status()), [200, 200]);
    assert.ok(made.every((answer) => answer.headers()['cache-control'] === 'no-store'));
    const [first, second] = await Promise.all(made.map((answer) => answer.text()));
    assert.match(first, /cc_test_\w{38}/);
    assert.doesNotMatch(second, /cc_test_\w{38}/);
    assert.match(second, /has been shown already/);
    await page.goto(account);
    await page.getByText('40 credits', { exact: true }).waitFor();
    assert.equal(await page.getByRole('row', { name: /Once/ }).count(), 1);
    assert.equal(await page.getByRole('row', { name: /Twice/ }).count(), 1);
  });

job(here, 'a negative top-up below the balance changes nothing, and says why', 'operator',
  '/console/operator/accounts', async (page) => {
    await accountAdd(page, 'Empty till');
    await page.getByRole('link', { name: 'Top up' }).click();
    await page.getByLabel('Credits').fill('-5');
    await page.getByLabel('Note').fill('Taken back');
    await page.getByRole('button', { name: 'Change the balance' }).click();
    await page.getByRole('alert').getByText(/balance/).waitFor();
    assert.equal(await page.getByLabel('Note').inputValue(), 'Taken back');
    await page.getByRole('link', { name: 'Go back' }).click();
    await page.getByText('0 credits', { exact: true }).waitFor();
    await page.getByText('The ledger is empty').waitFor();
  });

job(here, 'sender names are reviewed from a queue', 'operator', '/console/operator/senders',
  async (page, server) => {
    await page.getByRole('button', { name: 'Reject Harbour' }).click();
    await page.getByLabel('Reason').fill('Show that it is yours');
    await page.getByRole('button', { name: 'Reject the name' }).click();
    await page.getByText('Nothing to review').waitFor();
    await page.getByLabel('State').selectOption('rejected');
    await page.getByText('Show that it is yours').waitFor();
    await page.getByRole('button', { name: 'Approve Harbour' }).click();
    await page.getByRole('button', { name: 'Approve the name' }).click();
    await until(async () => (await server.api('GET', '/sender-ids')).data,
      (all) => all.some((/** @type {any} */ one) => (
        one.value === 'Harbour' && one.status === 'approved')));
  });

job(here, 'a number is added, checked in and released', 'operator', '/console/operator/numbers',
  async (page) => {
    await page.getByRole('link', { name: 'Add a number' }).click();
    await page.getByLabel('Number', { exact: true }).fill('07700 900003');
    await page.getByRole('button', { name: 'Add the number' }).click();
    await page.getByRole('row', { name: /07700 900003 Shared/ }).waitFor();
    await page.getByRole('button', { name: 'Check in 07700 900003' }).click();
    await page.getByRole('row', { name: /07700 900003 Shared Online/ }).waitFor();
    await page.getByRole('button', { name: 'Release 07700 900003' }).click();
    await page.getByRole('button', { name: 'Release the number' }).click();
    await page.getByText('07700 900003').first().waitFor({ state: 'detached' });
  });

job(here, 'names are reviewed, numbers managed and keys made without script', 'operator',
  '/console/operator/senders', async (page, server) => {
    for (const value of ['Quayside', 'Bakery']) {
      await server.api('POST', '/sender-ids', { value, purpose: 'Orders' });
    }
    await page.reload();
    await page.getByRole('button', { name: 'Approve Quayside' }).click();
    await page.getByRole('button', { name: 'Approve the name' }).click();
    await page.getByText('The name is approved.').waitFor();
    await page.getByRole('button', { name: 'Reject Bakery' }).click();
    await page.getByLabel('Reason').fill('Show that it is yours');
    await page.getByRole('button', { name: 'Reject the name' }).click();
    await page.getByText('The name is rejected.').waitFor();
    await page.getByLabel('State').selectOption('approved');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('row', { name: /Quayside Orders/ }).waitFor();

    await page.getByRole('link', { name: 'Numbers' }).click();
    await page.getByRole('link', { name: 'Add a number' }).click();
    await page.getByLabel('Number', { exact: true }).fill('07700 900004');
    await page.getByRole('button', { name: 'Add the number' }).click();
    await page.getByRole('button', { name: 'Check in 07700 900004' }).click();
    await page.getByRole('row', { name: /07700 900004 Shared Online/ }).waitFor();
    await page.getByRole('button', { name: 'Release 07700 900004' }).click();
    await page.getByRole('button', { name: 'Release the number' }).click();
    await page.getByText('The number is released.').waitFor();
    assert.equal(await page.getByText('07700 900004').count(), 0);

    await page.getByRole('link', { name: 'Accounts' }).click();
    await accountAdd(page, 'Quiet corner');
    await page.getByRole('link', { name: 'Make a key' }).click();
    await page.getByRole('button', { name: 'Make the key' }).click();
    const key = await page.locator('main code').innerText();
    assert.match(key, /^cc_test_/);
    await page.getByRole('link', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: /^Revoke/ }).click();
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
  }, { javaScriptEnabled: false });

job(here, 'the routes are shown with their state and their connections', 'operator',
  '/console/operator/routes', async (page) => {
    const columns = await page.getByRole('columnheader').allInnerTexts();
    assert.deepEqual(columns, ['Name', 'State', 'Connections', 'In hand', 'Pace', 'Down for']);
    await page.getByRole('row', { name: 'simulator Default Ready None needed – – –' }).waitFor();
    assert.equal(await page.locator('tbody tr').count(), 1);
  });

job(here, 'the operator’s pages are not an account’s', 'live', '/console/operator/accounts',
  async (page) => {
    await page.getByRole('heading', { name: 'No such page' }).waitFor();
  });
