// The address book: people, lists, and importing them.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { historyMake } from '../src/history.js';
import { job, stage } from '../src/setup.js';

const here = stage({}, historyMake);

/** @param {string} text */
const csv = (text) => ({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });

job(here, 'a contact is added, edited, put on a list and deleted', 'live', '/console/contacts',
  async (page, server) => {
    await page.getByRole('button', { name: 'Add a contact' }).click();
    await page.getByLabel('Mobile number').fill('07700 900401');
    await page.getByLabel('First name').fill('Bread');
    await page.getByRole('button', { name: 'Add a custom field' }).click();
    await page.getByLabel('Field name').fill('van');
    await page.getByLabel('Value').fill('green');
    await page.getByRole('dialog').getByRole('button', { name: 'Add the contact' }).click();
    await page.getByRole('heading', { name: 'Bread' }).waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Last name').fill('van');
    await page.getByLabel('van', { exact: true }).fill('blue');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Bread van' }).waitFor();
    await page.getByLabel('Add to a list').selectOption({ label: 'Suppliers' });
    await page.getByRole('button', { name: 'Add to the list' }).click();
    await page.getByRole('link', { name: 'Suppliers' }).waitFor();
    const [contact] = (await server.api('GET', '/contacts?q=07700900401')).data;
    assert.equal(contact.custom.van, 'blue');
    await page.getByRole('button', { name: 'Remove from Suppliers' }).click();
    await page.getByText('On no list.').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete the contact' }).click();
    await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
    assert.equal((await server.api('GET', '/contacts?q=07700900401')).data.length, 0);
  });

job(here, 'what is wrong with a contact is said beside its field', 'live', '/console/contacts',
  async (page) => {
    await page.getByRole('button', { name: 'Add a contact' }).click();
    await page.getByRole('button', { name: 'Add the contact' }).click();
    await page.getByText('This is needed.').waitFor();
    await page.getByLabel('Mobile number').fill('020 7946 0000');
    await page.getByRole('button', { name: 'Add the contact' }).click();
    await page.locator('.problem:visible').waitFor();
    assert.equal(await page.getByLabel('Mobile number').getAttribute('aria-invalid'), 'true');
  });

job(here, 'the search is in the address', 'live', '/console/contacts', async (page) => {
  await page.getByLabel('Name, number or email').fill('porter');
  await page.getByRole('link', { name: 'Night porter' }).waitFor();
  await page.getByRole('link', { name: 'Front desk' }).waitFor({ state: 'detached' });
  assert.match(page.url(), /q=porter/);
  await page.reload();
  assert.equal(await page.getByLabel('Name, number or email').inputValue(), 'porter');
});

job(here, 'a list is made, filled and emptied', 'live', '/console/lists', async (page) => {
  await page.getByRole('button', { name: 'Make a list' }).click();
  await page.getByLabel('Name').fill('Neighbours');
  await page.getByRole('dialog').getByRole('button', { name: 'Make the list' }).click();
  await page.getByRole('heading', { name: 'Neighbours' }).waitFor();
  await page.getByRole('button', { name: 'Add people' }).click();
  await page.getByLabel('Numbers').fill('07700 900411\n07700 900412, nonsense');
  await page.getByRole('button', { name: 'Add them' }).click();
  await page.getByText('These are not UK mobile numbers').waitFor();
  await page.getByText('nonsense').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('2 contacts').waitFor();
  await page.getByRole('button', { name: 'Remove 07700 900411 from the list' }).click();
  await page.getByText('1 contact', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Its contacts stay in the address book.').waitFor();
  await page.getByRole('button', { name: 'Delete the list' }).click();
  await page.getByRole('heading', { name: 'Lists', exact: true }).waitFor();
});

job(here, 'a CSV file is imported, and the rows that failed can be downloaded', 'live',
  '/console/contacts/import', async (page, server) => {
    await page.getByLabel('CSV file').setInputFiles(csv('Mobile;Given name;Table\r\n'
      + '07700 900421;"Corner ""window""";7\r\n07700 900422;Bar;8\r\nno number;Nobody;9\r\n'));
    await page.getByRole('heading', { name: 'What is in “people.csv”?' }).waitFor();
    assert.equal(await page.getByLabel('Mobile', { exact: true }).inputValue(), 'phone');
    assert.equal(await page.getByLabel('Given name').inputValue(), 'first_name');
    await page.getByRole('table').getByText('Corner "window"').waitFor();
    await page.getByLabel('Add everyone to a list').selectOption({ label: 'Suppliers' });
    await page.getByRole('button', { name: 'Import 3 rows' }).click();
    await page.getByRole('heading', { name: '“people.csv” was imported' }).waitFor();
    await page.getByRole('heading', { name: '1 row left out' }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download them as CSV' }).click();
    const bad = await readFile(await (await download).path(), 'utf8');
    assert.match(bad, /^Mobile,Given name,Table,line,problem\r\nno number,Nobody,9,4,/);
    const [contact] = (await server.api('GET', '/contacts?q=07700900421')).data;
    assert.equal(contact.first_name, 'Corner "window"');
    assert.equal(contact.custom.table, '7');
  });

job(here, 'a reload in the middle of an import loses nothing and repeats nothing', 'live',
  '/console/contacts/import', async (page, server) => {
    const rows = Array.from({ length: 2500 }, (_, index) => (
      `07701 ${String(100_000 + index)},Person ${index}`));
    const file = csv(`phone,first name\n${rows.join('\n')}\n`);
    /** @type {string[]} */
    const keys = [];
    await page.route('**/contacts/import', (route) => {
      const key = route.request().headers()['idempotency-key'];
      if (!key) return route.continue();
      keys.push(key);
      // The second portion reaches the server, and the page is gone before the answer.
      return keys.length === 2 ? route.fetch().then(() => route.abort(), () => {})
        : route.continue();
    });
    await page.getByLabel('CSV file').setInputFiles(file);
    await page.getByRole('button', { name: 'Import 2,500 rows' }).click();
    await page.getByRole('button', { name: 'Go on from row 1,001' }).waitFor();
    await page.reload();
    await page.getByText('was interrupted after 1,000 rows').waitFor();
    await page.getByLabel('CSV file').setInputFiles(file);
    await page.getByRole('heading', { name: '“people.csv” was imported' }).waitFor();
    assert.equal(await page.locator('.stat', { hasText: 'New' }).locator('.stat-value').innerText(),
      '2,500');
    assert.equal(keys.length, 4);
    assert.equal(keys[1], keys[2]);
    assert.equal(new Set(keys).size, 3);
    const last = (await server.api('GET', '/contacts?q=07701102499')).data;
    assert.equal(last.length, 1);
  });
