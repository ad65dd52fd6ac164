// Chromium for a test: signed in, with what it should never do noted.

import { chromium } from 'playwright-core';
import { OPERATOR_TOKEN } from './server.js';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./server.js').Server} Server */

const CHROMIUM = process.env.SMS_CHROMIUM ?? '/usr/bin/chromium';

export const WIDTHS = { narrow: { width: 390, height: 844 }, wide: { width: 1440, height: 900 } };

export async function browserStart() {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
}

/**
 * A page of its own, signed out. `alarms` collects what must not happen: scripts that fail, what
 * the CSP refused, requests to another origin.
 * @param {import('playwright-core').Browser} browser
 * @param {Server} server
 * @param {import('playwright-core').BrowserContextOptions} [options]
 */
export async function pageOpen(browser, server, options = {}) {
  const context = await browser.newContext({
    viewport: WIDTHS.wide, locale: 'en-GB', timezoneId: 'America/New_York',
    reducedMotion: 'reduce', ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  /** @type {string[]} */
  const alarms = [];
  page.on('pageerror', (error) => alarms.push(`script: ${error.message}`));
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) alarms.push(`csp: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== server.base && !['data:', 'blob:'].includes(url.protocol)) {
      alarms.push(`another origin: ${request.url()}`);
    }
  });
  return { page, context, alarms };
}

/**
 * Signs in as somebody would.
 * @param {Page} page
 * @param {Server} server
 * @param {'live' | 'test' | 'operator'} [who]
 * @param {string} [path]
 */
export async function signIn(page, server, who = 'live', path = '/console') {
  await page.goto(server.base + path);
  const key = who === 'operator' ? OPERATOR_TOKEN : server[who];
  await page.getByLabel('API key or operator’s token').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  // On a narrow screen the navigation is behind its menu.
  await page.locator('.frame').waitFor();
  // The page is seen before its modules have run.
  await page.waitForLoadState();
}
