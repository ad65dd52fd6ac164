// Writing a message: its price, its encoding, its schedule, and sending it once.

import assert from 'node:assert/strict';
import { historyMake } from '../src/history.js';
import { job, stage, until } from '../src/setup.js';

const here = stage({}, historyMake);

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page @param {string} to @param {string} body */
async function write(page, to, body) {
  await page.getByLabel('Numbers').fill(to);
  await page.getByRole('textbox', { name: 'Message' }).fill(body);
}

/** @param {Page} page @param {RegExp | string} name */
const inDialog = (page, name) => page.getByRole('dialog').getByRole('button', { name });

/** @param {import('../src/server.js').Server} server @param {string} body */
const sentWith = async (server, body) => (
  await server.api('GET', `/messages?q=${encodeURIComponent(body)}`)).data;

job(here, 'the price is said before and while a message is sent', 'live', '/console/compose',
  async (page, server) => {
    await write(page, '07700 900201, 07700 900202, nonsense', 'Two people and a mistake');
    await page.getByText('Costs 2 credits').waitFor();
    await page.getByText('This is not a phone number.').waitFor();
    await page.getByRole('button', { name: 'Send 2 messages for 2 credits' }).click();
    await page.getByRole('dialog').getByText('It goes to 2 people.').waitFor();
    await inDialog(page, 'Send 2 messages for 2 credits').click();
    await page.getByRole('heading', { name: '2 messages sent' }).waitFor();
    assert.equal((await sentWith(server, 'Two people and a mistake')).length, 2);
  });

job(here, 'a double click sends once', 'live', '/console/compose', async (page, server) => {
  await write(page, '07700 900203', 'Clicked twice');
  await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).dblclick();
  await inDialog(page, /^Send 1 message/).dblclick();
  await page.getByRole('heading', { name: '1 message sent' }).waitFor();
  assert.equal((await sentWith(server, 'Clicked twice')).length, 1);
});

job(here, 'a send that lost its answer is finished after a reload, once', 'live',
  '/console/compose', async (page, server) => {
    // The server takes the first request, and its answer is lost.
    let lost = 0;
    await page.route('**/console/api/v1/messages', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return route.continue();
      lost += 1;
      await route.fetch();
      return route.abort();
    });
    await write(page, '07700 900204', 'Answer lost');
    await page.getByRole('button', { name: 'Send 1 message for 1 credit' }).click();
    await inDialog(page, /^Send 1 message/).click();
    await page.getByText('The server did not answer your last send').waitFor();
    await page.reload();
    await page.getByText('The server did not answer your last send').waitFor();
    await page.getByRole('button', { name: 'Finish sending' }).click();
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    assert.equal(lost, 1);
    assert.equal((await sentWith(server, 'Answer lost')).length, 1);
  });

job(here, 'the counter names the character that makes a text dearer, and mends it', 'live',
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

job(here, 'contacts are found by name and can be taken away again', 'live', '/console/compose',
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
    await inDialog(page, /^Schedule/).click();
    await page.getByRole('heading', { name: '1 message scheduled' }).waitFor();
    const [message] = await sentWith(server, 'Scheduled in London');
    const clock = new Date(message.scheduled_at).toLocaleTimeString('en-GB', {
      timeZone: 'Europe/London', hour: '2-digit', minute: '2-digit',
    });
    assert.equal(clock, '08:00');
  }, { timezoneId: 'Asia/Tokyo' });

job(here, 'what is missing is said beside its field', 'live', '/console/compose', async (page) => {
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('Say who gets it:').waitFor();
  await page.getByText('Write a message.').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('name')), 'to');
});

job(here, 'a message is composed and sent with the keyboard alone', 'live', '/console',
  async (page, server) => {
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    /** @param {string} name presses Tab until the element of this name has the focus */
    const tabTo = async (name) => {
      for (let presses = 0; presses < 60; presses += 1) {
        const here_ = await page.evaluate(() => {
          const element = document.activeElement;
          const labels = element instanceof HTMLTextAreaElement ? element.labels : null;
          return labels?.[0]?.textContent ?? element?.textContent ?? '';
        });
        if (here_.startsWith(name)) return;
        await page.keyboard.press('Tab');
      }
      assert.fail(`Tab never reached ${name}`);
    };
    await tabTo('Write a message');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Compose' }).waitFor();
    await tabTo('Numbers');
    await page.keyboard.type('07700 900207');
    await tabTo('Message');
    await page.keyboard.type('By keyboard');
    await page.getByText('Costs 1 credit').waitFor();
    await tabTo('Send 1 message for 1 credit');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await tabTo('Send 1 message for 1 credit');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '1 message sent' }).waitFor();
    assert.equal((await sentWith(server, 'By keyboard')).length, 1);
  });

job(here, 'a test key says that it is free', 'test', '/console/compose', async (page, server) => {
  await write(page, '07700 900208', 'Only a test');
  await page.getByRole('button', { name: 'Send 1 message', exact: true }).click();
  await page.getByRole('dialog').getByText('Free: test mode').waitFor();
  await inDialog(page, /^Send/).click();
  await page.getByText('Test mode: nothing was charged.').waitFor();
  const [message] = await until(() => sentWith(server, 'Only a test'), (all) => all.length === 1);
  assert.equal(message.test, true);
});
