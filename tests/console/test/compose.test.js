// Writing a message: its price, its encoding, its schedule, and sending it once.

import assert from 'node:assert/strict';
import { historyMake } from '../src/history.js';
import { tabTo } from '../src/keyboard.js';
import { errorShown, job, stage, until } from '../src/setup.js';

const here = stage({}, historyMake);

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {string} to @param {string} body */
async function write(page, to, body) {
  await page.getByLabel('Numbers').fill(to);
  await page.getByRole('textbox', { name: 'Message' }).fill(body);
}

/** The button that answers the question with the price. @param {Page} page */
const answer = (page) => page.getByRole('form', { name: 'Answer' })
  .getByRole('button', { name: /^(Send|Schedule)/ });

/** @param {import('../src/server.js').Server} server @param {string} body */
const sentWith = async (server, body) => (
  await server.api('GET', `/messages?q=${encodeURIComponent(body)}`)).data;

job(here, 'the price is shown before a send and in its confirmation', 'live', '/console/compose',
  async (page, server) => {
    await write(page, '07700 900201, 07700 900202, nonsense', 'Two people and a mistake');
    await page.getByText('Costs 2 credits').waitFor();
    await page.getByText('This is not a phone number.').waitFor();
    await page.getByRole('button', { name: 'Send 2 messages for 2 credits' }).click();
    await page.getByRole('heading', { name: 'Send this message?' }).waitFor();
    await page.getByText('It goes to 2 people.').waitFor();
    assert.equal(await answer(page).innerText(), 'Send 2 messages for 2 credits');
    await answer(page).click();
    await page.getByRole('heading', { name: '2 messages sent' }).waitFor();
    assert.equal((await sentWith(server, 'Two people and a mistake')).length, 2);
  });

job(here, 'a double click sends once', 'live', '/console/compose', async (page, server) => {
  await write(page, '07700 900203', 'Clicked twice');
  await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).dblclick();
  await answer(page).dblclick();
  await page.getByRole('heading', { name: '1 message sent' }).waitFor();
  assert.equal((await sentWith(server, 'Clicked twice')).length, 1);
});

job(here, 'a send whose answer was lost is completed once after a reload', 'live',
  '/console/compose', async (page, server) => {
    // The server takes the first request, and its answer is lost.
    let lost = 0;
    await page.route('**/console/compose', async (route) => {
      const sends = /action=send/.test(route.request().postData() ?? '');
      if (!sends || lost > 0) return route.continue();
      lost += 1;
      await route.fetch();
      return route.abort();
    });
    await write(page, '07700 900204', 'Answer lost');
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    await answer(page).click();
    await until(async () => lost, (times) => times === 1);
    await errorShown(page);
    // What was written is there again, and the server knows it.
    await page.goto(`${server.base}/console/compose`);
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    await answer(page).click();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    assert.equal((await sentWith(server, 'Answer lost')).length, 1);
    await page.getByRole('link', { name: 'Write another' }).click();
    await page.getByRole('heading', { name: 'Compose' }).waitFor();
    await page.waitForLoadState();
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), '');
  });

job(here, 'a form that was sent and then changed asks before it sends again', 'live',
  '/console/compose', async (page, server) => {
    await write(page, '07700 900209', 'Sent first');
    const key = await page.locator('#compose input[name="key"]').inputValue();
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    await answer(page).click();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    await page.goto(`${server.base}/console/compose`);
    // As a browser does that keeps whole pages: the form is the one that was sent.
    await page.locator('#compose input[name="key"]').evaluate((element, value) => {
      element.setAttribute('value', value);
    }, key);
    await write(page, '07700 900209', 'Sent second');
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    await answer(page).click();
    await page.getByText('You have sent another message from this form already').waitFor();
    assert.equal((await sentWith(server, 'Sent second')).length, 0);
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    await answer(page).click();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    assert.equal((await sentWith(server, 'Sent second')).length, 1);
  });

job(here, 'a send asks again if its price has changed', 'live',
  '/console/compose', async (page, server) => {
    await page.getByLabel('Contacts').fill('porter');
    await page.getByRole('button', { name: 'Night porter, 07700 900105' }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello {first_name}');
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    await page.getByRole('heading', { name: 'Send this message?' }).waitFor();
    const { data } = await server.api('GET', '/contacts?q=07700900105');
    await server.api('PATCH', `/contacts/${data[0].id}`, { first_name: 'д'.repeat(100) });
    await answer(page).click();
    await page.getByText('The price has changed: it was 1 credit, and it is 2 credits now.')
      .waitFor();
    await page.getByRole('button', { name: 'Go back' }).click();
    await page.getByRole('heading', { name: 'Compose' }).waitFor();
    assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(),
      'Hello {first_name}');
    await page.getByRole('button', { name: /^Remove / }).waitFor();
    await server.api('PATCH', `/contacts/${data[0].id}`, { first_name: 'Night' });
    assert.equal((await sentWith(server, 'Hello д')).length, 0);
  });

job(here, 'the counter names the character that makes a text dearer, and replaces it', 'live',
  '/console/compose', async (page) => {
    await write(page, '07700 900205', `${'a'.repeat(69)}’s`);
    await page.getByText('71 characters · 2 parts · UCS-2').waitFor();
    await page.getByText('“’” makes this UCS-2').waitFor();
    await page.getByText('Costs 2 credits').waitFor();
    await page.getByRole('button', { name: 'Use plain characters' }).click();
    await page.getByText('71 characters · 1 part · GSM-7 · 89 left').waitFor();
    await page.getByText('Costs 1 credit.').waitFor();
    await write(page, '07700 900205', 'дом');
    await page.getByText('“д”, “о”, “м” make this UCS-2').waitFor();
  });

job(here, 'a list, a template, merge fields and a preview for each person', 'live',
  '/console/compose', async (page) => {
    await page.getByLabel('A list').selectOption({ label: 'Regulars (8 contacts)' });
    await page.getByLabel('Start from a template').selectOption({ label: 'Table ready' });
    await page.getByRole('button', { name: '{branch}' }).click();
    await page.getByText('Costs 8 credits for 8 people').waitFor();
    await page.getByText('Read it as somebody else').click();
    await page.getByLabel('Person').selectOption({ label: 'Night porter, 07700 900105' });
    await page.getByText('Hello Night, your table is ready.Old Town').waitFor();
  });

/** Holds the answer to the next preview back. @param {Page} page */
async function slowPreview(page) {
  let answer = () => {};
  const held = new Promise((resolve) => { answer = () => resolve(null); });
  const asked = page.waitForRequest('**/console/compose/preview');
  await page.route('**/console/compose/preview', async (route) => {
    const response = await route.fetch();
    await held;
    // The page may wait for it no longer.
    await route.fulfill({ response }).catch(() => {});
  }, { times: 1 });
  return { asked, answer };
}

job(here, 'what is chosen while a preview is under way stays chosen', 'live', '/console/compose',
  async (page) => {
    await page.getByLabel('A list').selectOption({ label: 'Regulars (8 contacts)' });
    await page.getByText('Costs 8 credits for 8 people').or(page.getByText('Read it as')).first()
      .waitFor();
    await page.getByText('Read it as somebody else').click();
    const { asked, answer } = await slowPreview(page);
    await page.getByRole('textbox', { name: 'Message' }).fill('Good evening {first_name}');
    await asked;
    await page.getByLabel('Person').selectOption({ label: 'Night porter, 07700 900105' });
    answer();
    await page.getByText('Good evening Night').waitFor();
  });

/** @type {[what: string, search: string, press: (page: Page) => Promise<unknown>, kept: string][]} */
const choices = [
  ['a contact', 'porter', (page) =>
    page.getByRole('button', { name: 'Night porter, 07700 900105' }).click(), 'porter again'],
  ['a template', '', (page) =>
    page.getByLabel('Start from a template').selectOption({ label: 'Table ready' }), ''],
];
for (const [what, search, press, kept] of choices) {
  job(here, `an answer that comes late keeps cursor and text of who chose ${what} and wrote on`,
    'live', '/console/compose', async (page) => {
      await page.getByLabel('Contacts').fill(search);
      if (search) await page.getByRole('button', { name: 'Night porter' }).waitFor();
      const { asked, answer } = await slowPreview(page);
      await press(page);
      await asked;
      await page.getByLabel('Contacts').fill(kept);
      const box = page.getByRole('textbox', { name: 'Message' });
      await box.fill('Good evening');
      const shown = page.waitForResponse((response) => response.url().endsWith('/preview'));
      answer();
      await shown;
      // It asks again for what was typed meanwhile, and by then the answer is on the page.
      await page.waitForResponse((response) => response.url().endsWith('/preview'));
      assert.equal(await box.evaluate((element) => element === document.activeElement), true);
      await page.keyboard.type(', all');
      assert.equal(await box.inputValue(), 'Good evening, all');
      assert.equal(await page.getByLabel('Contacts').inputValue(), kept);
    });
}

job(here, 'contacts are found by name, and can be removed again', 'live', '/console/compose',
  async (page) => {
    await page.getByLabel('Contacts').fill('porter');
    await page.getByRole('button', { name: 'Night porter, 07700 900105' }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello {first_name}');
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).waitFor();
    await page.getByText('Hello Night').first().waitFor();
    await page.getByRole('button', { name: 'Remove Night porter' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  });

job(here, 'a schedule is in London time wherever the browser is', 'live', '/console/compose',
  async (page, server) => {
    await write(page, '07700 900206', 'Scheduled in London');
    const day = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
    await page.getByLabel('Send at').fill(`${day}T08:00`);
    await page.getByText(/Goes at 08:00 on .*, London time\./).waitFor();
    await page.getByRole('button', { name: 'Schedule 1 message for 1 credit' }).click();
    await page.getByText(/It goes to 1 person, 08:00 on .* London time\./).waitFor();
    await answer(page).click();
    await page.getByRole('heading', { name: '1 message scheduled' }).waitFor();
    const [message] = await sentWith(server, 'Scheduled in London');
    const clock = new Date(message.scheduled_at).toLocaleTimeString('en-GB', {
      timeZone: 'Europe/London', hour: '2-digit', minute: '2-digit',
    });
    assert.equal(clock, '08:00');
  }, { timezoneId: 'Asia/Tokyo' });

job(here, 'a missing value is reported beside its field',
  'live', '/console/compose', async (page) => {
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('Choose who gets it:').waitFor();
  await page.getByText('Write a message.').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('name')), 'to');
});

job(here, 'a message is composed and sent with the keyboard alone', 'live', '/console',
  async (page, server) => {
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await tabTo(page, 'Write a message');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Compose' }).waitFor();
    await tabTo(page, 'Numbers');
    await page.keyboard.type('07700 900207');
    await tabTo(page, 'Message');
    await page.keyboard.type('By keyboard');
    await page.getByText('Costs 1 credit').waitFor();
    await tabTo(page, 'Send 1 message for 1 credit');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Send this message?' }).waitFor();
    await tabTo(page, 'Send 1 message for 1 credit');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    assert.equal((await sentWith(server, 'By keyboard')).length, 1);
  });

job(here, 'a test key says that it is free', 'test', '/console/compose', async (page, server) => {
  await write(page, '07700 900208', 'Only a test');
  await page.getByText('Test mode: free.').waitFor();
  await page.getByRole('button', { name: 'Send 1 message', exact: true }).click();
  await page.getByRole('heading', { name: 'Send this message?' }).waitFor();
  await page.getByText('Free: test mode').waitFor();
  await answer(page).click();
  await page.getByText('Test mode: nothing was charged.').waitFor();
  const [message] = await until(() => sentWith(server, 'Only a test'), (all) => all.length === 1);
  assert.equal(message.test, true);
});

job(here, 'without script a message is written, priced, confirmed and sent once', 'live',
  '/console/compose', async (page, server) => {
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Choose who gets it:').waitFor();
    await page.getByText('Write a message.').waitFor();
    await page.getByLabel('Contacts').fill('porter');
    await page.getByRole('button', { name: 'Find contacts' }).click();
    await page.getByRole('button', { name: 'Night porter, 07700 900105' }).click();
    await page.getByLabel('Start from a template').selectOption({ label: 'Table ready' });
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByText('Hello Night, your table is ready.').waitFor();
    await page.getByRole('button', { name: 'Remove Night porter' }).click();
    await write(page, '07700 900210', 'Without script');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText('Costs 1 credit').waitFor();
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    await page.getByText('It goes to 1 person.').waitFor();
    await answer(page).dblclick();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    assert.equal((await sentWith(server, 'Without script')).length, 1);
  }, { javaScriptEnabled: false });
