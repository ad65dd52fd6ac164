// Who is signed in, and what happens when that ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageOpen, signIn } from '../src/browser.js';
import { job, stage, until } from '../src/setup.js';

const here = stage();

test('a wrong key is refused in words, and stays out of the page', async () => {
  const { page, context } = await pageOpen(here.browser, here.server);
  await page.goto(`${here.server.base}/console`);
  await page.getByLabel('API key or operator’s token').fill('cc_live_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This key is not valid').waitFor();
  await context.close();
});

job(here, 'every page shows whether the session is live or test',
  'test', '/console', async (page) => {
  await page.getByText('Test mode: nothing is really sent').waitFor();
  await page.getByRole('link', { name: 'Messages', exact: true }).click();
  await page.getByRole('heading', { name: 'Messages', exact: true }).waitFor();
  await page.getByText('Test mode: nothing is really sent').waitFor();
});

job(here, 'the browser does not keep the key', 'live', '/console', async (
  page, server, context,
) => {
  const seen = await page.evaluate(() => JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, document.cookie, location.href,
    document.documentElement.outerHTML,
  ]));
  assert.ok(!seen.includes(server.live));
  const cookies = await context.cookies();
  assert.equal(cookies.length, 1);
  assert.ok(cookies[0].httpOnly && cookies[0].sameSite === 'Strict');
  assert.ok(!cookies[0].value.includes(server.live));
});

job(here, 'signing out ends the session', 'live', '/console', async (page, server) => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key or operator’s token').waitFor();
  await page.goto(`${server.base}/console/messages`);
  await page.getByLabel('API key or operator’s token').waitFor();
});

job(here, 'people sign in, choose colours, look around and sign out without script', 'live',
  '/console/links', async (page) => {
    await page.getByRole('heading', { name: 'Tracked links', exact: true }).waitFor();
    await page.getByLabel('Colours').selectOption('dark');
    await page.getByRole('button', { name: 'Change' }).click();
    await page.locator('html[data-theme="dark"]').waitFor();
    await page.getByRole('link', { name: 'Developers' }).click();
    await page.getByRole('heading', { name: 'Developers' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    await page.getByLabel('API key or operator’s token').waitFor();
  }, { javaScriptEnabled: false });

job(here, 'the menu of a narrow screen works without script', 'live', '/console/links',
  async (page) => {
    await page.getByRole('link', { name: 'Developers' }).click();
    await page.getByRole('heading', { name: 'Developers' }).waitFor();
  }, { javaScriptEnabled: false, viewport: { width: 390, height: 844 } });

job(here, 'an expired session leads to signing in and back, and loses no draft', 'live',
  '/console/compose', async (page, server, context) => {
    await page.getByLabel('Numbers').fill('07700 900123');
    await page.getByRole('textbox', { name: 'Message' }).fill('A draft that must not be lost');
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    await page.getByRole('heading', { name: 'Send this message?' }).waitFor();
    const send = page.getByRole('button', { name: /^Send 1 message/ });
    await send.waitFor();
    await context.clearCookies();
    await send.click();
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('API key or operator’s token').fill(server.live);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Compose' }).waitFor();
    await page.waitForLoadState();
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(),
      'A draft that must not be lost');
    assert.equal(await page.getByLabel('Numbers').inputValue(), '07700 900123');
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).waitFor();
    const sent = await server.api('GET', '/messages?q=A draft that must not be lost');
    assert.equal(sent.data.length, 0);
  });

job(here, 'a draft is hidden from other people who sign in', 'live', '/console/compose',
  async (page, server, context) => {
    const message = page.getByRole('textbox', { name: 'Message' });
    await message.fill('Private words');
    await page.reload();
    assert.equal(await message.inputValue(), 'Private words');
    // Without a session, the page would go to signing in by itself, at the same time as the test.
    await page.goto('about:blank');
    await context.clearCookies();
    await signIn(page, server, 'test', '/console/compose');
    await page.getByRole('heading', { name: 'Compose' }).waitFor();
    assert.equal(await message.inputValue(), '');
  });

job(here, 'signing in leads only to a page of the console', 'live',
  '/console/sign-in?next=//example.com/', async (page, server) => {
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    assert.equal(new URL(page.url()).origin, server.base);
  });

test('a form of an earlier session changes nothing for the people who signed in since',
  async () => {
  for (const next of /** @type {const} */ (['live', 'test'])) {
    // Without script: with it, tabs tell each other of a new session.
    const options = { javaScriptEnabled: false };
    const { page, context, alarms } = await pageOpen(here.browser, here.server, options);
    await signIn(page, here.server, 'live', '/console/lists');
    await page.getByRole('link', { name: 'Make a list' }).click();
    await page.getByLabel('Name').fill(`Of an earlier session, then ${next}`);
    const other = await context.newPage();
    await signIn(other, here.server, next, '/console/sign-in');
    await page.getByRole('button', { name: 'Make the list' }).click();
    await page.getByRole('heading', { name: 'This page is out of date' }).waitFor();
    const { data } = await here.server.api('GET', '/lists');
    assert.ok(data.every((/** @type {any} */ one) => !one.name.startsWith('Of an earlier')));

    await page.getByRole('link', { name: 'Open the page again' }).click();
    await page.getByLabel('Name').fill(`As ${next} again`);
    await page.getByRole('button', { name: 'Make the list' }).click();
    await page.getByRole('heading', { name: `As ${next} again` }).waitFor();
    assert.deepEqual(alarms, []);
    await context.close();
  }
});

job(here, 'a form is completed if its own people sign in again, but not if others do', 'live',
  '/console/lists/new', async (page, server, context) => {
    const own = page.locator('main input[name="csrf"]').first();
    const earlier = await own.inputValue();
    await page.getByLabel('Name').fill('Kept in a new session');
    const other = await context.newPage();
    await signIn(other, server, 'live', '/console/sign-in');
    await until(() => own.inputValue(), (csrf) => csrf !== earlier);
    await page.getByRole('button', { name: 'Make the list' }).click();
    await page.getByRole('heading', { name: 'Kept in a new session' }).waitFor();

    await page.goto(`${server.base}/console/lists/new`);
    await page.getByLabel('Name').fill('Of somebody else');
    await signIn(other, server, 'test', '/console/sign-in');
    await page.getByText('Test mode: nothing is really sent').waitFor();
    assert.equal(await page.getByLabel('Name').inputValue(), '');
  });

job(here, 'the sign-in page stays the same for people who are signed in', 'live',
  '/console', async (page, server) => {
    // What is live on the page is read once the stream of events is open.
    const read = page.waitForResponse((answer) => answer.url().endsWith('/console/sign-in')
      && answer.request().resourceType() === 'fetch');
    await page.goto(`${server.base}/console/sign-in`);
    await read;
    await page.getByLabel('API key or operator’s token').fill('typed');
    await page.evaluate(() => fetch('/console/session').then((answer) => answer.text()));
    assert.equal(await page.getByLabel('API key or operator’s token').inputValue(), 'typed');
    assert.equal(page.url(), `${server.base}/console/sign-in`);
  });

job(here, 'going back to a page whose navigation was skipped shows it', 'live',
  '/console/lists', async (page) => {
    await page.getByRole('link', { name: 'Skip to the page' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Templates' }).click();
    await page.getByRole('heading', { name: 'Templates', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Lists', exact: true }).waitFor();
  });

job(here, 'the link that skips the navigation leads to the content', 'live', '/console/lists',
  async (page) => {
    await page.getByRole('heading', { name: 'Lists', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Skip to the page' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement?.id === 'main');
    await page.keyboard.press('Tab');
    const name = await page.evaluate(() => document.activeElement?.textContent);
    assert.equal(name, 'Make a list');
  });
