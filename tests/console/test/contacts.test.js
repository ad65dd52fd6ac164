// The address book: people, lists, and importing them.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyMake } from '../src/history.js';
import { tabTo } from '../src/keyboard.js';
import { job, stage } from '../src/setup.js';

const here = stage({}, historyMake);
const withoutScript = { javaScriptEnabled: false };

/** @param {string} text */
const csv = (text) => ({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });

job(here, 'a contact is added, edited, put on a list and deleted', 'live', '/console/contacts',
  async (page, server) => {
    await page.getByRole('link', { name: 'Add a contact' }).click();
    await page.getByLabel('Mobile number').fill('07700 900401');
    await page.getByLabel('First name').fill('Bread');
    await page.getByText('Add custom fields').click();
    await page.getByLabel('Field name', { exact: true }).fill('van');
    await page.getByLabel('Value', { exact: true }).fill('green');
    await page.getByRole('button', { name: 'Add the contact' }).click();
    await page.getByRole('heading', { name: 'Bread' }).waitFor();
    await page.getByText('The contact was added.').waitFor();
    await page.getByRole('link', { name: 'Edit' }).click();
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
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete the contact' }).click();
    await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
    assert.equal((await server.api('GET', '/contacts?q=07700900401')).data.length, 0);
  });

job(here, 'an invalid contact is reported beside its fields', 'live', '/console/contacts/new',
  async (page) => {
    await page.getByLabel('First name').fill('Night');
    const missing = page.getByLabel('Mobile number');
    await page.getByRole('button', { name: 'Add the contact' }).click();
    assert.equal(await missing.evaluate((input) => input.matches(':invalid:focus')), true);
    await missing.fill('020 7946 0000');
    await page.getByRole('button', { name: 'Add the contact' }).click();
    await page.locator('.problem:visible').waitFor();
    const number = page.getByLabel('Mobile number');
    assert.equal(await number.getAttribute('aria-invalid'), 'true');
    assert.equal(await number.inputValue(), '020 7946 0000');
    assert.equal(await page.getByLabel('First name').inputValue(), 'Night');
    await page.getByLabel('Mobile number').fill('07700 900100');
    await page.getByRole('button', { name: 'Add the contact' }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'already has this number' });
    await alert.getByRole('link', { name: 'Open that contact' }).click();
    await page.getByRole('heading', { name: 'Front desk' }).waitFor();
  });

job(here, 'a custom field is emptied, and several are added at once', 'live',
  '/console/contacts/new', async (page, server) => {
    await page.getByLabel('Mobile number').fill('07700 900402');
    await page.getByText('Add custom fields').click();
    for (const [place, name] of [['', 'van'], [' 2', 'round'], [' 3', 'Bad name']]) {
      await page.getByLabel(`Field name${place}`, { exact: true }).fill(name);
      await page.getByLabel(`Value${place}`, { exact: true }).fill('7');
    }
    await page.getByRole('button', { name: 'Add the contact' }).click();
    await page.locator('.problem:visible').filter({ hasText: 'a-z' }).waitFor();
    await page.getByLabel('Field name 3', { exact: true }).fill('bread');
    await page.getByRole('button', { name: 'Add the contact' }).click();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('round', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const [contact] = (await server.api('GET', '/contacts?q=07700900402')).data;
    assert.deepEqual(contact.custom, { van: '7', bread: '7' });
  });

job(here, 'a contact is added with the keyboard alone', 'live', '/console/contacts',
  async (page, server) => {
    await tabTo(page, 'Add a contact');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Add a contact' }).waitFor();
    await tabTo(page, 'Mobile number');
    await page.keyboard.type('07700 900404');
    await tabTo(page, 'First name');
    await page.keyboard.type('Keys');
    await tabTo(page, 'Add the contact');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
    const [contact] = (await server.api('GET', '/contacts?q=07700900404')).data;
    assert.equal(contact.first_name, 'Keys');
  });

job(here, 'the search is in the address', 'live', '/console/contacts', async (page) => {
  await page.getByLabel('Name, number or email').fill('porter');
  await page.getByLabel('Name, number or email').press('Enter');
  await page.getByRole('link', { name: 'Front desk' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Night porter' }).waitFor();
  assert.match(page.url(), /q=porter/);
  await page.reload();
  assert.equal(await page.getByLabel('Name, number or email').inputValue(), 'porter');
});

job(here, 'contacts are paged, and the pages keep the search', 'live', '/console/contacts',
  async (page, server) => {
    const rows = Array.from({ length: 60 }, (_, index) => ({
      phone: `07702 ${String(100_000 + index)}`, first_name: 'Paged', last_name: `No ${index}`,
    }));
    await server.api('POST', '/contacts/import', { rows });
    await page.goto(`${server.base}/console/contacts?q=paged`);
    const seen = new Set();
    for (const count of [25, 25, 10]) {
      const links = await page.getByRole('link', { name: /^Paged No/ }).allInnerTexts();
      assert.equal(links.length, count);
      for (const link of links) seen.add(link);
      if (count === 10) break;
      const before = page.url();
      await page.getByRole('link', { name: 'Older' }).click();
      await page.waitForURL((url) => url.href !== before);
    }
    assert.equal(seen.size, 60);
  });

job(here, 'a list is made, filled and emptied', 'live', '/console/lists', async (page) => {
  await page.getByRole('link', { name: 'Make a list' }).click();
  await page.getByLabel('Name').fill('Neighbours');
  await page.getByRole('button', { name: 'Make the list' }).click();
  await page.getByRole('heading', { name: 'Neighbours' }).waitFor();
  await page.getByRole('link', { name: 'Add people' }).click();
  await page.getByLabel('Numbers').fill('07700 900411\n07700 900412, nonsense');
  await page.getByRole('button', { name: 'Add them' }).click();
  const alert = page.getByRole('alert');
  await alert.getByText('2 people were added').waitFor();
  await alert.getByText('These are not UK mobile numbers').waitFor();
  assert.equal(await page.getByLabel('Numbers').inputValue(), 'nonsense');
  await page.getByRole('link', { name: 'Back to the list' }).click();
  await page.getByText('2 contacts').waitFor();
  await page.getByRole('button', { name: 'Remove 07700 900411 from the list' }).click();
  await page.getByText('1 contact', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Rename' }).click();
  await page.getByLabel('About').fill('Who live near');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('1 contact. Who live near').waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Its contacts stay in the address book.').waitFor();
  await page.getByRole('button', { name: 'Delete the list' }).click();
  await page.getByRole('heading', { name: 'Lists', exact: true }).waitFor();
});

job(here, 'contacts and lists work without script', 'live', '/console/contacts',
  async (page, server) => {
    await page.getByRole('link', { name: 'Add a contact' }).click();
    await page.getByLabel('Mobile number').fill('07700 900403');
    await page.getByLabel('First name').fill('Quiet');
    await page.getByRole('button', { name: 'Add the contact' }).click();
    await page.getByRole('heading', { name: 'Quiet' }).waitFor();
    await page.getByLabel('Add to a list').selectOption({ label: 'Suppliers' });
    await page.getByRole('button', { name: 'Add to the list' }).click();
    await page.getByRole('link', { name: 'Suppliers' }).click();
    await page.getByRole('button', { name: 'Remove Quiet from the list' }).click();
    await page.getByText('Nobody is on this list').waitFor();
    await page.goto(`${server.base}/console/contacts?q=07700900403`);
    await page.getByRole('link', { name: 'Quiet' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete the contact' }).click();
    await page.getByText('The contact was deleted.').waitFor();
    assert.equal((await server.api('GET', '/contacts?q=07700900403')).data.length, 0);
  }, withoutScript);

job(here, 'a CSV file is imported, and the rows that failed can be downloaded', 'live',
  '/console/contacts/import', async (page, server) => {
    await page.getByLabel('CSV file').setInputFiles(csv('Mobile;Given name;Table\r\n'
      + '07700 900421;"Corner ""window""";7\r\n07700 900422;Bar;8\r\nno number;Nobody;9\r\n'));
    await page.getByRole('heading', { name: 'What is in “people.csv”?' }).waitFor();
    assert.equal(await page.getByLabel('Mobile', { exact: true }).inputValue(), 'phone');
    assert.equal(await page.getByLabel('Given name').inputValue(), 'first_name');
    await page.getByRole('table').getByText('Corner "window"').waitFor();
    await page.getByLabel('Mobile', { exact: true }).selectOption({ label: 'Email' });
    await page.getByRole('button', { name: 'Import 3 rows' }).click();
    await page.getByText('Choose the column with the mobile number.').waitFor();
    await page.getByLabel('Mobile', { exact: true }).selectOption({ label: 'Mobile number' });
    await page.getByLabel('Add everyone to a list').selectOption({ label: 'Suppliers' });
    await page.getByRole('button', { name: 'Import 3 rows' }).click();
    await page.getByRole('heading', { name: '“people.csv” was imported' }).waitFor();
    await page.getByRole('heading', { name: '1 row left out' }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download them as CSV' }).click();
    const bad = await readFile(await (await download).path(), 'utf8');
    assert.match(bad, /^\ufeffMobile;Given name;Table;line;problem\r\nno number;Nobody;9;4;/);
    const again = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download them as CSV' }).click();
    assert.equal(await readFile(await (await again).path(), 'utf8'), bad);
    const [contact] = (await server.api('GET', '/contacts?q=07700900421')).data;
    assert.equal(contact.first_name, 'Corner "window"');
    assert.equal(contact.custom.table, '7');
  });

/** Windows-1252, which is Latin-1 for these letters. @param {string} text */
const fromExcel = (text) => ({
  name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(text, 'latin1'),
});

job(here, 'a file from Excel is read in its encoding, which can be changed', 'live',
  '/console/contacts/import', async (page, server) => {
    await page.getByLabel('CSV file').setInputFiles(fromExcel('Mobile;Given name;Email\r\n'
      + "'07700900451;Zo\u00eb;zoe@example.com\r\n=\"07700900452\";Ann;nobody\r\n"
      + '4,47701E+11;Bob;\r\n'));
    await page.getByRole('heading', { name: 'What is in “people.csv”?' }).waitFor();
    await page.getByRole('table').getByText('Zo\u00eb').waitFor();
    assert.equal(await page.getByLabel('Encoding').inputValue(), 'windows-1252');
    // What was chosen stays chosen when the file is read again.
    await page.getByLabel('Given name').selectOption({ label: 'Last name' });
    await page.getByLabel('Add everyone to a list').selectOption({ label: 'New list …' });
    await page.getByLabel('Encoding').selectOption('macintosh');
    await page.getByRole('table').getByText('Zo\u00ce').waitFor();
    assert.equal(await page.getByLabel('Given name').inputValue(), 'last_name');
    await page.getByLabel('Given name').selectOption({ label: 'First name' });
    await page.getByLabel('Encoding').selectOption('windows-1252');
    await page.getByRole('table').getByText('Zo\u00eb').waitFor();
    assert.equal(await page.getByLabel('Given name').inputValue(), 'first_name');
    assert.equal(await page.getByLabel('Add everyone to a list').inputValue(), 'new');
    await page.getByRole('button', { name: 'Import 3 rows' }).click();
    await page.getByRole('alert').getByText('The new list needs a name').waitFor();
    await page.getByLabel('Name of the new list').fill('From Excel');
    await page.getByRole('button', { name: 'Import 3 rows' }).click();
    await page.getByRole('heading', { name: '1 row and 1 value left out' }).waitFor();
    await page.getByRole('heading', { name: 'Email: Not an email address' }).waitFor();
    await page.getByRole('heading', { name: 'Mobile: Excel rounded this number' }).waitFor();
    const lists = (await server.api('GET', '/lists')).data;
    /** @type {{name: string, contact_count: number} | undefined} */
    const made = lists.find((/** @type {any} */ list) => list.name === 'From Excel');
    assert.equal(made?.contact_count, 2);
    const [contact] = (await server.api('GET', '/contacts?q=07700900451')).data;
    assert.equal(contact.first_name, 'Zo\u00eb');
  });

job(here, 'a workbook is imported from the sheet that is chosen', 'live',
  '/console/contacts/import', async (page, server) => {
    const file = new URL('../../../sms-files/tests/files/people.xlsx', import.meta.url).pathname;
    await page.getByLabel('CSV file').setInputFiles(file);
    await page.getByRole('heading', { name: 'What is in “people.xlsx”?' }).waitFor();
    await page.getByRole('table').getByText('2026-11-27').waitFor();
    await page.getByLabel('Sheet').selectOption('Other');
    await page.getByRole('button', { name: 'Import 1 row' }).waitFor();
    await page.getByLabel('Sheet').selectOption('People');
    await page.getByRole('button', { name: 'Import 3 rows' }).click();
    await page.getByRole('heading', { name: '1 row and 1 value left out' }).waitFor();
    const [contact] = (await server.api('GET', '/contacts?q=07700900462')).data;
    assert.equal(contact.first_name, 'Müller');
  });

job(here, 'two columns that may hold the number are a question', 'live',
  '/console/contacts/import', async (page, server) => {
    await page.getByLabel('CSV file').setInputFiles(csv('Phone,Mobile\r\n1,07700 900481\r\n'));
    await page.getByText('More than one column may hold the mobile numbers').waitFor();
    await page.getByRole('button', { name: 'Import 1 row' }).click();
    await page.getByText('Choose the column with the mobile number.').waitFor();
    await page.getByLabel('Mobile', { exact: true }).selectOption({ label: 'Mobile number' });
    await page.getByRole('button', { name: 'Import 1 row' }).click();
    await page.getByRole('heading', { name: '“people.csv” was imported' }).waitFor();
    const [contact] = (await server.api('GET', '/contacts?q=07700900481')).data;
    assert.equal(contact.custom.phone, '1');
  });

job(here, 'the rows that an import of opt-outs left out can be had twice', 'live',
  '/console/opt-outs/import', async (page) => {
    await page.getByLabel('CSV file').setInputFiles(csv('Mobile\r\n07700 900482\r\nnone\r\n'));
    await page.getByRole('button', { name: 'Never text these numbers' }).click();
    await page.getByRole('heading', { name: '1 row left out' }).waitFor();
    for (const time of ['first', 'second']) {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download them as CSV' }).click();
      const written = await readFile(await (await download).path(), 'utf8');
      assert.match(written, /^\ufeffMobile,line,problem\r\nnone,3,/, time);
    }
  });

job(here, 'a CSV file is imported in one go without script, once', 'live',
  '/console/contacts/import', async (page, server) => {
    // More than other forms may bring.
    const notes = 'x'.repeat(1_500);
    const more = Array.from({ length: 800 }, (_, index) => `07703 ${100_000 + index},Far,${notes}`);
    await page.getByLabel('CSV file').setInputFiles(csv('Name,Town\nBar,Leeds\n'));
    await page.getByRole('button', { name: 'Import the file' }).click();
    await page.getByRole('alert').getByText('No column of this file is called mobile').waitFor();
    const folder = await mkdtemp(join(tmpdir(), 'import-'));
    const file = join(folder, 'people.csv');
    // The report on them is larger still.
    const bad = Array.from({ length: 1_000 }, () => `none,Far,${'é'.repeat(1_500)}`);
    await writeFile(file, 'Mobile,Name,Notes\r\n'
      + `07700 900431,Bar,\r\n=no number,Nobody,\r\n${[...more, ...bad].join('\r\n')}\r\n`);
    await page.getByLabel('CSV file').setInputFiles(file);
    await page.getByLabel('Add everyone to a list').selectOption({ label: 'Suppliers' });
    await page.getByRole('button', { name: 'Import the file' }).click();
    const added = async () => {
      await page.getByRole('heading', { name: '“people.csv” was imported' }).waitFor();
      await page.getByRole('heading', { name: '1,001 rows left out' }).waitFor();
      return page.locator('.stat', { hasText: 'New' }).locator('.stat-value').innerText();
    };
    assert.equal(await added(), '801');
    // The browser sends the form again, and it gets the first one's answer.
    await page.reload();
    assert.equal(await added(), '801');
    const [contact] = (await server.api('GET', '/contacts?q=07700900431')).data;
    assert.equal(contact.custom.name, 'Bar');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download them as CSV' }).click();
    const written = await readFile(await (await download).path(), 'utf8');
    assert.equal(written.split('\r\n').length, 1_003);
    await rm(folder, { recursive: true });
    assert.match(written, /^\ufeffMobile,Name,Notes,line,problem\r\n'=no number,Nobody,,3,/);
  }, withoutScript);

job(here, 'a file that cannot be imported is refused in words', 'live', '/console/contacts/import',
  async (page) => {
    await page.getByLabel('CSV file').setInputFiles(csv('phone,name\r\n'));
    await page.getByText('This file has no rows below its first one.').waitFor();
    await page.getByLabel('CSV file').setInputFiles(csv(`phone\n${'1\n'.repeat(20_001)}`));
    await page.getByText('This file has 20,001 rows. Split it: 20,000 is the most.').waitFor();
    await page.getByLabel('CSV file').setInputFiles(csv('phone,name\r\n07700 900432,x\r\n'));
    await page.getByRole('button', { name: 'Import 1 row' }).waitFor();
  });

job(here, 'a reload in the middle of an import loses nothing and repeats nothing', 'live',
  '/console/contacts/import', async (page, server) => {
    const rows = Array.from({ length: 2500 }, (_, index) => (
      `07701 ${String(100_000 + index)},Person ${index}`));
    const file = csv(`phone,first name\n${rows.join('\n')}\n`);
    /** @type {string[]} */
    const keys = [];
    await page.route('**/contacts/import/rows', (route) => {
      const [, key] = /name="key"\r\n\r\n(.*)\r\n/.exec(route.request().postData() ?? '') ?? [];
      keys.push(key ?? '');
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
