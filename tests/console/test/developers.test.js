// For those who write programs: endpoints, their deliveries, their secrets.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { job, stage, until } from '../src/setup.js';

const here = stage();

/** A receiver that answers 500 until it is told otherwise. */
async function receiverStart() {
  const receiver = { status: 500, count: 0, url: '', stop: () => {} };
  const server = createServer((request, response) => {
    request.resume();
    receiver.count += 1;
    response.writeHead(receiver.status).end('thank you <b>very</b> much');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(null)));
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  receiver.url = `http://127.0.0.1:${address.port}/hooks`;
  receiver.stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return receiver;
}

job(here, 'an endpoint is added, tested, retried, given a new secret and deleted', 'live',
  '/console/developers', async (page, server) => {
    const receiver = await receiverStart();
    try {
      await page.getByRole('button', { name: 'Add an endpoint' }).click();
      await page.getByLabel('Address').fill(receiver.url);
      await page.getByRole('dialog').getByRole('button', { name: 'Add the endpoint' }).click();
      await page.getByText('Copy it now: it is shown only once.').waitFor();
      const secret = await page.getByRole('dialog').locator('code').innerText();
      assert.match(secret, /^whsec_/);
      await page.getByRole('button', { name: 'I have copied it' }).click();
      // A reload while the browser goes on to the next page would break it off.
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.reload();
      await page.getByRole('link', { name: receiver.url }).click();
      await page.getByRole('heading', { name: receiver.url }).waitFor();
      assert.ok(!(await page.content()).includes(secret));

      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByText('The endpoint did not accept the test').waitFor();
      await page.getByText('thank you <b>very</b> much').waitFor();
      receiver.status = 200;
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByText('The endpoint accepted the test.').waitFor();
      receiver.status = 500;

      await server.api('POST', '/messages', { to: '07700 900123', body: 'Hello' });
      await page.getByRole('row', { name: /message\.sent Pending 500/ }).waitFor();
      receiver.status = 200;
      await page.getByRole('button', { name: 'Retry message.sent' }).click();
      await page.getByRole('row', { name: /message\.sent Delivered 200/ }).waitFor();

      await page.getByRole('button', { name: 'Details of message.sent' }).click();
      await page.getByRole('dialog').getByText(/^evt_/).first().waitFor();
      await page.getByRole('button', { name: 'Close' }).click();

      await page.getByRole('button', { name: 'New secret' }).click();
      await page.getByRole('button', { name: 'Make a new secret' }).click();
      await page.getByText('Copy it now').waitFor();
      assert.notEqual(await page.getByRole('dialog').locator('code').innerText(), secret);
      await page.getByRole('button', { name: 'I have copied it' }).click();

      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('dialog').getByLabel('On', { exact: true }).uncheck();
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByText('It is off. Nothing is sent to it.').waitFor();
      await page.getByRole('button', { name: 'Switch it on' }).click();
      await page.getByText('It is off. Nothing is sent to it.').waitFor({ state: 'detached' });

      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete the endpoint' }).click();
      await until(async () => (await server.api('GET', '/webhooks')).data,
        (all) => all.length === 0);
    } finally {
      receiver.stop();
    }
  });

job(here, 'an endpoint is added, tested and deleted without script', 'live',
  '/console/developers', async (page, server) => {
    const receiver = await receiverStart();
    receiver.status = 200;
    try {
      await page.getByRole('button', { name: 'Add an endpoint' }).click();
      await page.getByLabel('Address').fill(receiver.url);
      await page.getByRole('dialog').getByRole('button', { name: 'Add the endpoint' }).click();
      await page.getByText('Copy it now: it is shown only once.').waitFor();
      assert.match(await page.getByRole('dialog').locator('code').innerText(), /^whsec_/);
      await page.getByRole('button', { name: 'I have copied it' }).click();
      await page.getByRole('link', { name: receiver.url }).click();
      await page.getByRole('heading', { name: receiver.url }).waitFor();
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByText('The endpoint accepted the test.').waitFor();
      assert.equal(receiver.count, 1);
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete the endpoint' }).click();
      await page.getByText('No endpoints yet').waitFor();
      assert.equal((await server.api('GET', '/webhooks')).data.length, 0);
    } finally {
      receiver.stop();
    }
  }, { javaScriptEnabled: false });

job(here, 'each API key shows when it was last used', 'live', '/console/developers',
  async (page, server) => {
    const account = (await server.operator('GET', '/accounts')).data[0].id;
    const keys = `/accounts/${account}/keys`;
    const made = (await server.operator('POST', keys, { kind: 'live', name: 'Till' })).data;
    await server.operator('POST', keys, { kind: 'test', name: 'Spare' });
    await page.reload();
    await page.getByRole('row', { name: /^Till Live cc_live_…\w{4} Never Valid$/ }).waitFor();
    await fetch(`${server.base}/api/v1/balance`, {
      headers: { Authorization: `Bearer ${made.key}` },
    });
    await until(async () => (await server.operator('GET', keys)).data, (all) => (
      all.some((/** @type {any} */ one) => one.id === made.id && one.last_used_at)));
    await page.reload();
    await page.getByRole('row', { name: /^Till / }).locator('time').waitFor();
    await page.getByRole('row', { name: /^Spare Test cc_test_…\w{4} Never Valid$/ }).waitFor();
    assert.ok(!(await page.content()).includes(made.key));
  });

job(here, 'a replay sends a new endpoint the events before it', 'live',
  '/console/developers', async (page, server) => {
    const receiver = await receiverStart();
    receiver.status = 200;
    try {
      const log = async () => (await server.api('GET', '/events?types=message.sent')).data;
      const before = (await log()).length;
      await server.api('POST', '/messages', { to: '07700 900123', body: 'Hello' });
      const { length } = await until(log, (all) => all.length > before);
      const endpoint = (await server.api('POST', '/webhooks', {
        url: receiver.url, events: ['message.sent', 'message.received'],
      })).data;
      await page.goto(`${server.base}/console/developers/webhooks/${endpoint.id}`);
      await page.getByText('No deliveries yet').waitFor();

      await page.getByRole('button', { name: 'Send again' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('message.sent').uncheck();
      await dialog.getByLabel('message.received').uncheck();
      await dialog.getByRole('button', { name: 'Send again' }).click();
      await dialog.getByText('choose at least one kind of event').waitFor();
      assert.equal(receiver.count, 0);

      await dialog.getByLabel('message.sent').check();
      await dialog.getByRole('button', { name: 'Send again' }).click();
      const counted = length === 1 ? '1 event' : `${length} events`;
      await page.getByText(`${counted} will be sent again, up to 200 a second.`).waitFor();
      await page.getByText(/^The last of them happened on .*, London time\.$/).waitFor();
      await page.getByRole('row', { name: /message\.sent Delivered 200/ }).nth(length - 1)
        .waitFor();
      assert.equal(receiver.count, length);
    } finally {
      receiver.stop();
    }
  });

job(here, 'a page shows that its endpoint was switched off or on elsewhere',
  'live', '/console/developers', async (page, server) => {
    const { id } = (await server.api('POST', '/webhooks', {
      url: 'http://127.0.0.1:9/elsewhere', events: ['message.received'],
    })).data;
    await page.goto(`${server.base}/console/developers/webhooks/${id}`);
    const off = page.getByText('It is off. Nothing is sent to it.');
    const isOn = page.getByRole('dialog').getByLabel('On', { exact: true });
    await page.getByText('No deliveries yet').waitFor();
    assert.equal(await off.count(), 0);
    await server.api('PATCH', `/webhooks/${id}`, { enabled: false });
    await off.waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    assert.equal(await isOn.isChecked(), false);
    await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click();
    await server.api('PATCH', `/webhooks/${id}`, { enabled: true });
    await off.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Edit' }).click();
    assert.equal(await isOn.isChecked(), true);
  });

job(here, 'a page offers a curl request to copy, without the key', 'live',
  '/console/developers', async (page, server) => {
    await page.getByRole('group', { name: 'Send a message with curl' }).waitFor();
    const text = await page.getByRole('group', { name: 'Send a message with curl' }).innerText();
    assert.ok(text.includes(`${server.base}/api/v1/messages`));
    assert.ok(text.includes('Bearer YOUR_API_KEY'));
  });
