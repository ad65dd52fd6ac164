// Every page is for everybody: axe finds nothing, at both widths and in both themes.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { WIDTHS, browserStart, pageOpen, signIn } from '../src/browser.js';
import { historyMake } from '../src/history.js';
import { everyPage, pageSettled, pendingAccount } from '../src/pages.js';
import { serverStart } from '../src/server.js';

const axe = await readFile(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** @type {import('../src/server.js').Server} */
let server;
/** @type {import('playwright-core').Browser} */
let browser;
/** @type {import('../src/pages.js').PageOf[]} */
let pages;

before(async () => {
  server = await serverStart({ SMS_SANDBOX: 'true' });
  browser = await browserStart();
  const facts = await historyMake(server);
  const message = (await server.api('GET', '/messages')).data[0].id;
  const account = (await server.operator('GET', '/accounts')).data[0].id;
  pages = await everyPage(server, facts, message, account, await pendingAccount(server));
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

// What somebody who signs in with a test key sees first, with the strip that says so.
const WITH_TEST_KEY = [
  'home', 'inbox', 'compose', 'messages', 'contacts', 'lists', 'campaigns', 'campaign-draft',
  'templates', 'keywords', 'opt-outs', 'senders', 'links', 'developers',
];

for (const who of /** @type {const} */ ([null, 'live', 'operator', 'test'])) {
  test(`axe finds nothing on any page, at both widths, in both themes: ${who}`, async () => {
    /** @type {string[]} */
    const found = [];
    // Only axe itself needs to run from a string: the page's own policy stays in the other tests.
    const { page, context } = await pageOpen(browser, server, { bypassCSP: true });
    if (who) await signIn(page, server, who);
    const seen = pages.filter((one) => (
      who === 'test' ? WITH_TEST_KEY.includes(one.name) : one.who === who));
    if (who === 'test') assert.equal(seen.length, WITH_TEST_KEY.length);
    for (const { name, path } of seen) {
      await page.goto(server.base + path);
      await pageSettled(page);
      if (who === 'test') await page.getByText('Test mode: nothing is really sent').waitFor();
      await page.evaluate(axe);
      for (const [width, viewport] of Object.entries(WIDTHS)) {
        await page.setViewportSize(viewport);
        for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
          await page.emulateMedia({ colorScheme });
          found.push(...await violations(page, `${name}, ${width}, ${colorScheme}`));
        }
        const over = await page.evaluate(() => (
          document.documentElement.scrollWidth - document.documentElement.clientWidth));
        if (over > 0) found.push(`${name}, ${width}: ${over} px wider than the screen`);
        await dialogsLookedAt(page, `${name}, ${width}`, found);
      }
    }
    await context.close();
    assert.deepEqual(found, []);
  });
}

test('axe looks at every page that the server renders', async () => {
  const source = new URL('../../../sms-console/src/', import.meta.url);
  const files = (await readdir(source, { recursive: true })).filter((name) => name.endsWith('.rs'));
  const texts = await Promise.all(files.map((name) => readFile(new URL(name, source), 'utf8')));
  const constants = /const ([A-Z_]+): &str =\s*"([^"]+)"/g;
  /** @param {string} text */
  const named = (text) => new Map([...text.matchAll(constants)].map(([, name, path]) => (
    [name, path])));
  const everywhere = named(texts.join('\n'));
  const patterns = texts.flatMap((text) => {
    const here = named(text);
    return [...text.matchAll(/Place::get\(\s*(?:"([^"]+)"|([A-Z_]+)),/g)].map(([, path, name]) => (
      path ?? here.get(name) ?? everywhere.get(name) ?? assert.fail(`where is ${name}?`)));
  });
  assert.ok(patterns.length > 40, `${patterns.length} patterns were found`);
  const paths = new Set(pages.map((one) => one.path));
  const missing = patterns.filter((pattern) => {
    const open = new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    return !paths.has(pattern)
      && ![...paths].some((path) => !patterns.includes(path) && open.test(path));
  });
  assert.deepEqual(missing, []);
});

test('axe finds nothing in a form that comes back with errors', async () => {
  const topUp = pages.find((one) => one.name === 'operator-top-up')?.path ?? '';
  /** @type {['live' | 'operator', string, string, string, string][]} */
  const forms = [
    ['operator', topUp, 'Credits', '-9000000', 'Change the balance'],
    ['live', '/console/contacts/new', 'Mobile number', '020 7946 0000', 'Add the contact'],
  ];
  for (const [who, path, field, typed, send] of forms) {
    const { page, context } = await pageOpen(browser, server, { bypassCSP: true });
    await signIn(page, server, who, path);
    await page.getByLabel(field).fill(typed);
    await page.getByRole('button', { name: send }).click();
    await page.getByRole('main').getByRole('alert').filter({ visible: true }).waitFor();
    await page.evaluate(axe);
    assert.deepEqual(await violations(page, `${path}, refused`), []);
    await context.close();
  }
});

test('axe finds nothing while a send is confirmed, nor after it', async () => {
  const { page, context } = await pageOpen(browser, server, { bypassCSP: true });
  await signIn(page, server, 'live', '/console/compose');
  await page.getByLabel('Numbers').fill('07700 900123, nonsense');
  await page.getByRole('textbox', { name: 'Message' }).fill('Looked at on its way');
  for (const heading of ['Send this message?', '1 message sent']) {
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).last().click();
    await page.getByRole('heading', { name: heading }).waitFor();
    await page.evaluate(axe);
    assert.deepEqual(await violations(page, heading), []);
  }
  await context.close();
});

test('axe reports an image without alternative text, so it does work', async () => {
  const { page, context } = await pageOpen(browser, server, { bypassCSP: true });
  await page.goto(`${server.base}/console/sign-in`);
  await pageSettled(page);
  await page.evaluate(() => {
    const picture = document.createElement('img');
    picture.src = 'data:,';
    document.querySelector('main')?.append(picture);
  });
  await page.evaluate(axe);
  const found = await violations(page, 'sign-in');
  assert.equal(found.length, 1);
  assert.match(found[0], /image-alt/);
  await context.close();
});

/**
 * @param {import('playwright-core').Page} page
 * @param {string} name
 */
async function violations(page, name) {
  const result = await page.evaluate(() => (
    /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] })));
  return result.violations.flatMap((/** @type {any} */ rule) => rule.nodes.map(
    (/** @type {any} */ node) => `${name}: ${rule.id} ${node.target.join(' ')} ${node.html}`));
}

/**
 * Looks at each question that a page asks: one of each kind, in light.
 * @param {import('playwright-core').Page} page
 * @param {string} name
 * @param {string[]} found
 */
async function dialogsLookedAt(page, name, found) {
  await page.emulateMedia({ colorScheme: 'light' });
  /** @type {[string, string][]} */
  const openers = await page.locator('button[command="show-modal"]').evaluateAll((buttons) => (
    buttons.map((one) => [one.textContent ?? '', one.getAttribute('commandfor') ?? ''])));
  for (const [words, id] of new Map(openers)) {
    await page.locator(`[id="${id}"]`).evaluate((/** @type {HTMLDialogElement} */ one) => (
      one.showModal()));
    found.push(...await violations(page, `${name}, ${words}`));
    await page.locator(`[id="${id}"]`).evaluate((/** @type {HTMLDialogElement} */ one) => (
      one.close()));
  }
}
