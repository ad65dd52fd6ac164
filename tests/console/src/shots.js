// Screenshots of every page, at both widths and in both themes.
//
//   node src/shots.js FOLDER [PAGE ...]

import { mkdir } from 'node:fs/promises';
import { WIDTHS, browserStart, pageOpen, signIn } from './browser.js';
import { historyMake } from './history.js';
import { everyPage, pageSettled, pendingAccount } from './pages.js';
import { serverStart } from './server.js';

const [folder = 'build/shots', ...wanted] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const server = await serverStart({ SMS_SANDBOX: 'true' });
const browser = await browserStart();
try {
  const facts = await historyMake(server);
  // The simulated network delivers after two seconds.
  await new Promise((done) => setTimeout(done, 3000));
  const message = (await server.api('GET', '/messages?status=delivered')).data[0].id;
  const account = (await server.operator('GET', '/accounts')).data[0].id;
  const all = await everyPage(server, facts, message, account, await pendingAccount(server));
  const pages = all.filter((one) => wanted.length === 0 || wanted.includes(one.name));
  for (const [width, viewport] of Object.entries(WIDTHS)) {
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      for (const who of /** @type {const} */ ([null, 'live', 'operator'])) {
        const theirs = pages.filter((one) => one.who === who);
        if (theirs.length === 0) continue;
        const { page, context } = await pageOpen(browser, server, { viewport, colorScheme });
        if (who) await signIn(page, server, who);
        for (const { name, path } of theirs) {
          await page.goto(server.base + path);
          await pageSettled(page);
          await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png` });
        }
        await context.close();
      }
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
