// A page that is used with the keyboard alone.

import assert from 'node:assert/strict';

/**
 * Presses Tab until what has the focus is called this: by its label, or else by its text.
 * @param {import('playwright-core').Page} page
 * @param {string} name what its name begins with
 */
export async function tabTo(page, name) {
  for (let presses = 0; presses < 60; presses += 1) {
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const isField = element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement;
      return (isField && element.labels?.[0]?.textContent) || (element?.textContent ?? '');
    });
    if (focused.trim().startsWith(name)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`Tab never reached ${name}`);
}
