// Pages that do not break: buttons, numbers and names of one word stay in one line, tables take the
// width that is there, and a conversation can be read whatever the height of the window.

import assert from 'node:assert/strict';
import { historyMake } from '../src/history.js';
import { pageSettled } from '../src/pages.js';
import { job, stage } from '../src/setup.js';

const here = stage({}, historyMake);

const PATHS = ['', '/inbox', '/inbox/%2B447700900100', '/compose', '/messages', '/contacts',
  '/lists', '/campaigns', '/templates', '/keywords', '/opt-outs', '/senders', '/links',
  '/developers'];

/** What must not wrap, in a page with this font. @param {import('playwright-core').Page} page */
const wrapped = (page) => page.evaluate(() => {
  const linesOf = (/** @type {Element} */ element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const tops = [...range.getClientRects()].filter((one) => one.width > 1)
      .map((one) => Math.round(one.top + one.height / 2));
    return tops.filter((top, at) => at === 0 || Math.abs(top - tops[at - 1]) > 6).length;
  };
  const all = [...document.querySelectorAll('.button, .badge, .number, .table .right, strong')];
  const seen = all.filter((one) => one.checkVisibility());
  const isOneWord = (/** @type {Element} */ one) => (
    !/[\s.:/@_-]/.test((one.textContent ?? '').trim()));
  return seen.filter((one) => !one.matches('strong') || isOneWord(one))
    .filter((one) => linesOf(one) > 1)
    .map((one) => `${one.className || one.tagName}: ${one.textContent?.trim()}`);
});

for (const font of ['', 'Verdana, "DejaVu Sans", sans-serif']) {
  for (const width of [390, 1440, 1920]) {
    const name = font ? 'a wide font' : 'its own font';
    job(here, `nothing short wraps at ${width} px in ${name}`, 'live', '/console',
      async (page, server) => {
        /** @type {string[]} */
        const bad = [];
        for (const path of PATHS) {
          await page.goto(`${server.base}/console${path}`);
          await pageSettled(page);
          if (font) await page.addStyleTag({ content: `* { font-family: ${font} !important; }` });
          bad.push(...(await wrapped(page)).map((one) => `${path} ${one}`));
          const beside = await page.evaluate(() => (
            document.documentElement.scrollWidth - document.documentElement.clientWidth));
          if (beside > 1) bad.push(`${path} is ${beside} px wider than the window`);
        }
        assert.deepEqual(bad, []);
      }, { viewport: { width, height: 900 }, bypassCSP: true });
  }
}

for (const width of [1440, 1920]) {
  job(here, `a table takes the width that is there at ${width} px`, 'live', '/console/messages',
    async (page) => {
      const box = await page.locator('.table-box').boundingBox();
      assert.ok(box && box.width > width - 240 - 2 * 48, `${box?.width}`);
    }, { viewport: { width, height: 900 } });
}

job(here, 'the scale of a chart is not cut', 'live', '/console', async (page) => {
  const cut = await page.evaluate(() => {
    const svg = document.querySelector('.chart-wide');
    const left = svg?.getBoundingClientRect().left ?? 0;
    return [...svg?.querySelectorAll('text') ?? []]
      .filter((one) => one.getBoundingClientRect().left < left - 0.5).length;
  });
  assert.equal(cut, 0);
});

for (const [what, viewport] of Object.entries({
  'a phone with its keyboard open': { width: 390, height: 430 },
  'a window at 200 %': { width: 720, height: 400 },
})) {
  job(here, `a conversation can be read on ${what}`, 'live', '/console/inbox/%2B447700900100',
    async (page) => {
      const box = page.getByLabel('Reply', { exact: true }).and(page.locator('textarea'));
      await box.focus();
      const log = await page.locator('.thread-log').boundingBox();
      assert.ok(log && log.height >= 150, `${log?.height} px of the conversation`);
      const before = (await box.boundingBox())?.height ?? 0;
      assert.ok(before < 60, `one line: ${before}`);
      await box.fill('one\ntwo\nthree');
      const after = (await box.boundingBox())?.height ?? 0;
      assert.ok(after > before + 20, `it grows: ${before} to ${after}`);
    }, { viewport });
}

job(here, 'print shows the open conversation, and no other', 'live',
  '/console/inbox/%2B447700900100', async (page) => {
    await page.emulateMedia({ media: 'print' });
    await page.locator('.bubble').first().waitFor();
    assert.equal(await page.locator('.inbox-side').isVisible(), false);
    assert.equal(await page.locator('.thread-foot').isVisible(), false);
    assert.equal(await page.locator('nav').isVisible(), false);
    const cut = await page.locator('.thread-log')
      .evaluate((one) => one.scrollHeight - one.clientHeight);
    assert.ok(cut <= 1, `${cut} px of the conversation are cut off`);
  });

job(here, 'the tab says how many messages are unread', 'live', '/console/lists',
  async (page, server) => {
    const unread = async () => Number(/^\((\d+)\+?\) /.exec(await page.title())?.[1] ?? 0);
    const before = await unread();
    await server.operator('POST', '/inbound', {
      from: '07700900199', to: (await server.api('GET', '/numbers')).data[0].phone_number,
      body: 'Is anybody there?',
    });
    await page.waitForFunction((count) => document.title.startsWith(`(${count}) `), before + 1);
  });
