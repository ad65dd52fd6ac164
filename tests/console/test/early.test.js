// What somebody does on a page before its modules are there is not lost, nor what is done while the
// page reads itself again.

import assert from 'node:assert/strict';
import { historyMake } from '../src/history.js';
import { job, stage } from '../src/setup.js';

const here = stage({}, historyMake);

/**
 * Opens a page whose modules are late.
 * @param {import('playwright-core').Page} page
 * @param {string} address
 * @returns {Promise<() => void>} lets them come
 */
async function openEarly(page, address) {
  const come = { now: () => {} };
  /** @type {Promise<void>} */
  const late = new Promise((done) => {
    come.now = done;
  });
  await page.route('**/module/*.js', async (route) => {
    await late;
    await route.continue();
  });
  await page.goto(address, { waitUntil: 'commit' });
  return come.now;
}

job(here, 'a filter that is filled in before the scripts load takes effect',
  'live', '/console/templates',
  async (page, server) => {
    const come = await openEarly(page, `${server.base}/console/templates`);
    await page.getByLabel('Name or words').fill('autumn');
    await page.getByText('Table ready').first().waitFor();
    come();
    await page.getByText('Table ready').first().waitFor({ state: 'detached' });
    await page.getByText('Autumn menu').first().waitFor();
  });

job(here, 'a filter that is reset before the scripts load takes effect', 'operator',
  '/console/operator/senders', async (page, server) => {
    const come = await openEarly(page, `${server.base}/console/operator/senders?status=rejected`);
    await page.getByText('Not the name you trade by').waitFor();
    // The first one of the choices.
    await page.getByLabel('State').selectOption('pending');
    come();
    await page.getByText('Not the name you trade by').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Approve Harbour' }).waitFor();
  });

job(here, 'colours that are chosen before the scripts load take effect',
  'live', '/console/templates',
  async (page, server) => {
    const come = await openEarly(page, `${server.base}/console/templates`);
    await page.getByLabel('Colours').selectOption('dark');
    come();
    await page.locator('html[data-theme="dark"]').waitFor();
    await page.reload();
    await page.locator('html[data-theme="dark"]').waitFor();
  });

job(here, 'a CSV file that is chosen before the scripts load is read',
  'live', '/console/contacts/import',
  async (page, server) => {
    const come = await openEarly(page, `${server.base}/console/contacts/import`);
    await page.getByLabel('CSV file').setInputFiles({
      name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from('phone\n07700 900441\n'),
    });
    come();
    await page.getByRole('heading', { name: 'What is in “people.csv”?' }).waitFor();
  });

job(here, 'a page does not show results of an earlier filter', 'live',
  '/console/templates', async (page) => {
    const come = { now: () => {} };
    /** @type {Promise<void>} */
    const late = new Promise((done) => {
      come.now = done;
    });
    await page.route('**/console/templates', async (route) => {
      await late;
      await route.continue();
    });
    const asked = page.waitForRequest(/templates$/);
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await asked;
    await page.getByLabel('Name or words').fill('autumn');
    await page.getByText('Table ready').first().waitFor({ state: 'detached' });
    // The page is read again for its new address once the late answer is dropped.
    const askedAgain = page.waitForRequest(/templates\?q=autumn$/);
    come.now();
    await askedAgain;
    assert.equal(await page.getByText('Table ready').count(), 0);
  });
