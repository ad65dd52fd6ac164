// What each file of tests begins with: a server, a browser, and the end of both.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browserStart, pageOpen, signIn } from './browser.js';
import { serverStart } from './server.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./server.js').Server} Server */

/**
 * @typedef {object} Stage
 * @property {Server} server
 * @property {import('playwright-core').Browser} browser
 */

// The longest that a job may take, in milliseconds. Some questions to the browser have no limit of
// their own, and a browser that never answers them would hold up the check for good.
const LONGEST = 180_000;

/**
 * Starts a server and a browser for the tests of a file.
 * @param {Record<string, string>} [settings]
 * @param {(server: Server) => Promise<unknown>} [prepare]
 */
export function stage(settings = {}, prepare = async () => {}) {
  const stage = /** @type {Stage} */ ({});
  before(async () => {
    stage.server = await serverStart(settings);
    stage.browser = await browserStart();
    await prepare(stage.server);
  });
  after(async () => {
    await stage.browser?.close();
    await stage.server?.stop();
  }, { timeout: LONGEST });
  return stage;
}

/**
 * A job that somebody does, signed in, on a page of its own. Scripts that fail, what the page's
 * policy refused and requests to other origins fail the job.
 * @param {Stage} stage
 * @param {string} promise
 * @param {'live' | 'test' | 'operator'} who
 * @param {string} path
 * @param {(page: Page, server: Server,
 *   context: import('playwright-core').BrowserContext) => Promise<void>} job
 * @param {import('playwright-core').BrowserContextOptions} [options]
 */
export function job(stage, promise, who, path, job, options) {
  test(promise, { timeout: LONGEST }, async () => {
    const { page, context, alarms } = await pageOpen(stage.browser, stage.server, options);
    try {
      await signIn(page, stage.server, who, path);
      await job(page, stage.server, context);
      assert.deepEqual(alarms, []);
    } catch (error) {
      if (process.env.SMS_CONSOLE_SHOTS) {
        const name = promise.replaceAll(/\W+/g, '-');
        await page.screenshot({ path: `${process.env.SMS_CONSOLE_SHOTS}/${name}.png` });
      }
      throw error;
    } finally {
      await context.close();
    }
  });
}

/**
 * Waits until `read` answers what `wanted` accepts.
 * @template T
 * @param {() => Promise<T>} read
 * @param {(value: T) => boolean} wanted
 */
export async function until(read, wanted) {
  const end = Date.now() + 15_000;
  for (;;) {
    const value = await read();
    if (wanted(value)) return value;
    if (Date.now() > end) assert.fail(`never came: last ${JSON.stringify(value)?.slice(0, 400)}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/**
 * Waits until Chromium shows its own page for a form whose request broke off. It opens that page
 * only after the request has failed, and would interrupt whatever a test opens before.
 * @param {Page} page
 */
export async function errorShown(page) {
  await until(async () => page.url(), (url) => url.startsWith('chrome-error:'));
}
