// Trying things out: messages that come in, and time that passes.

import assert from 'node:assert/strict';
import { historyMake } from '../src/history.js';
import { job, stage } from '../src/setup.js';

const here = stage({ SMS_SANDBOX: 'true' }, historyMake);

job(here, 'an inbound message is simulated, and one without an account is unrouted', 'operator',
  '/console/operator/sandbox', async (page, server) => {
    const shared = (await server.operator('GET', '/numbers')).data
      .find((/** @type {any} */ one) => one.account_id === null);
    await page.getByLabel('From').fill('07700 900601');
    await page.getByLabel('To', { exact: true }).selectOption(shared.phone_number);
    await page.getByLabel('Text').fill('Is anybody there?');
    await page.getByRole('button', { name: 'Let it come in' }).click();
    await page.getByText('It belongs to no account: it is unrouted.').waitFor();
    await page.getByRole('link', { name: 'Unrouted messages' }).click();
    await page.getByText('Is anybody there?').waitFor();
    await page.getByRole('link', { name: 'Routes' }).click();
    await page.getByRole('row', { name: /simulator Default Ready/ }).waitFor();
  });

job(here, 'the clock of a sandbox is moved', 'operator', '/console/operator/sandbox',
  async (page, server) => {
    const before = (await server.operator('GET', '/clock')).data.moved_seconds;
    await page.getByRole('button', { name: 'One day' }).click();
    await page.getByText('Time has passed').waitFor();
    const moved = (await server.operator('GET', '/clock')).data.moved_seconds;
    assert.equal(moved - before, 86_400);
  });

job(here, 'a message is simulated and the clock moved without script', 'operator',
  '/console/operator/sandbox', async (page, server) => {
    const before = (await server.operator('GET', '/clock')).data.moved_seconds;
    await page.getByLabel('From').fill('07700 900602');
    await page.getByLabel('Text').fill('No script here');
    await page.getByRole('button', { name: 'Let it come in' }).click();
    await page.getByText(/It is in the account’s inbox|it is unrouted/).waitFor();
    await page.getByRole('button', { name: 'One hour' }).click();
    await page.getByText('Time has passed').waitFor();
    const moved = (await server.operator('GET', '/clock')).data.moved_seconds;
    assert.equal(moved - before, 3_600);
  }, { javaScriptEnabled: false });
