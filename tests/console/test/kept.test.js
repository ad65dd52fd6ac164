// What somebody has written stays: while the server is down, and when they go back.

import assert from 'node:assert/strict';
import { historyMake } from '../src/history.js';
import { serverStart } from '../src/server.js';
import { browserStart, pageOpen, signIn } from '../src/browser.js';
import { job, stage } from '../src/setup.js';
import { test } from 'node:test';

const here = stage({}, historyMake);

test('sending while the server is down keeps the page and says so', async () => {
  const server = await serverStart();
  const browser = await browserStart();
  try {
    const { page, alarms } = await pageOpen(browser, server);
    await signIn(page, server, 'live', '/console/compose');
    await page.getByLabel('Numbers').fill('07700 900123');
    await page.getByRole('textbox', { name: 'Message' }).fill('Kept while it is down');
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).waitFor();
    await server.stop();
    await page.locator('#compose .button-main').click();
    await page.getByText('Not sent, kept: the server does not answer.').waitFor();
    assert.equal(new URL(page.url()).pathname, '/console/compose');
    const box = page.getByRole('textbox', { name: 'Message' });
    assert.equal(await box.inputValue(), 'Kept while it is down');
    assert.deepEqual(alarms, []);
  } finally {
    await browser.close();
    await server.stop();
  }
});

job(here, 'going back after a send sends nothing and asks nothing', 'live', '/console/compose',
  async (page, server) => {
    await page.getByLabel('Numbers').fill('07700 900223');
    await page.getByRole('textbox', { name: 'Message' }).fill('Back and forth');
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    const answer = page.getByRole('form', { name: 'Answer' });
    await answer.getByRole('button', { name: /^Send/ }).click();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    /** @type {string[]} */
    const posts = [];
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.isNavigationRequest()) posts.push(request.url());
    });
    await page.goBack();
    await page.getByRole('heading', { name: 'Compose' }).waitFor();
    await page.goForward();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    assert.deepEqual(posts, []);
    const sent = (await server.api('GET', '/messages?q=Back+and+forth')).data;
    assert.equal(sent.length, 1);
  });

job(here, 'a message with a field that nobody has is sent only once somebody agrees', 'live',
  '/console/compose', async (page, server) => {
    await page.getByLabel('Numbers').fill('07700 900224');
    await page.getByRole('textbox', { name: 'Message' }).fill('Hi {first_name}, your {nosuch}');
    await page.getByText('No contact has a field {nosuch}.').waitFor();
    await page.getByText('1 person has no value for {first_name}.').waitFor();
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    const answer = page.getByRole('form', { name: 'Answer' });
    const send = answer.getByRole('button', { name: /^Send/ });
    await send.click();
    assert.equal(await page.getByRole('heading', { name: 'Send this message?' }).count(), 1);
    assert.equal((await server.api('GET', '/messages?q=nosuch')).data.length, 0);
    await page.getByLabel('Send it like this').check();
    await send.click();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
  });
