// A real server for a test: started on a port of its own, stopped by its process id.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const OPERATOR_TOKEN = 'operator-token-of-the-console-tests';

const BINARY = process.env.SMS_SERVER
  ?? new URL('../../../target/debug/sms-server', import.meta.url).pathname;

/**
 * Starts a server and waits until it has said where it is. Its store is the one that
 * SMS_CONSOLE_STORE asks for: `memory`, or `default`, which is the one of a server that is told
 * nothing. `settings` may ask for another.
 * @param {Record<string, string>} [settings]
 */
export async function serverStart(settings = {}) {
  const { store, folder } = await storeOf(settings);
  const child = spawn(BINARY, [], {
    env: {
      ...passedOn(), ...store, SMS_ADDR: '127.0.0.1:0', SMS_LOG: 'error',
      SMS_ADMIN_TOKEN: OPERATOR_TOKEN, SMS_RATE_PER_SECOND: '1000', SMS_RATE_BURST: '1000',
      SMS_WEBHOOK_ALLOW_PRIVATE: 'true', ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const complete = settings.SMS_DEMO === 'false' ? /Data .*\n/ : /Then look up/;
  const banner = await bannerOf(child, complete);
  const base = /API\s+(http:\/\/[^/\s]+)/.exec(banner)?.[1];
  if (!base) throw new Error(`the server did not start: ${banner}`);
  if (folder && !banner.includes(folder)) throw new Error(`the data is elsewhere: ${banner}`);
  if (!(await fetch(`${base}/console`)).ok) {
    child.kill();
    throw new Error(`${BINARY} serves no console: build it with this tree`);
  }
  const live = /Live key\s+(\S+)/.exec(banner)?.[1] ?? '';
  return {
    base,
    live,
    port: new URL(base).port,
    test: /Test key\s+(\S+)/.exec(banner)?.[1] ?? '',
    /** @param {NodeJS.Signals} [signal] */
    async stop(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await once(child, 'exit');
      }
      if (folder) await rm(folder, { recursive: true, force: true });
    },
    /** Asks the API. */
    api: caller(base, '/api/v1', live),
    /** Asks the operator's API. */
    operator: caller(base, '/admin/v1', OPERATOR_TOKEN),
  };
}

/** @typedef {Awaited<ReturnType<typeof serverStart>>} Server */

/**
 * The same server for whoever has another live key.
 * @param {Server} server
 * @param {string} live
 * @returns {Server}
 */
export function serverFor(server, live) {
  return { ...server, live, api: caller(server.base, '/api/v1', live) };
}

/**
 * @param {string} base
 * @param {string} root
 * @param {string} key
 */
function caller(base, root, key) {
  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {Record<string, string>} [headers]
   * @returns {Promise<any>}
   */
  return async (method, path, body, headers) => {
    const response = await fetch(base + root + path, {
      method,
      headers: {
        Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  };
}

/**
 * What a server says at its start. It is read on to the end: a server must not wait for a reader.
 * @param {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable,
 *   null>} child
 * @param {RegExp} complete
 * @returns {Promise<string>}
 */
function bannerOf(child, complete) {
  return new Promise((done) => {
    let banner = '';
    child.stdout.on('data', (chunk) => {
      banner += chunk;
      if (complete.test(banner)) done(banner);
    });
    child.stdout.on('end', () => done(banner));
  });
}

/**
 * The settings of the store, and the folder that goes when the server does.
 * @param {Record<string, string>} settings
 * @returns {Promise<{store: Record<string, string>, folder: string | null}>}
 */
async function storeOf(settings) {
  const wanted = process.env.SMS_CONSOLE_STORE ?? 'default';
  // A sandbox has no other store.
  if (wanted === 'memory' || settings.SMS_DATA_DIR || settings.SMS_SANDBOX) {
    return { store: { SMS_STORE: 'memory' }, folder: null };
  }
  if (wanted !== 'default') throw new Error(`SMS_CONSOLE_STORE=${wanted}: say memory or default`);
  const folder = await mkdtemp(join(tmpdir(), 'console-'));
  return { store: { SMS_DATA_DIR: folder }, folder };
}

/** What a server is given from outside: where to find the console's files while they change. */
function passedOn() {
  const { PATH, SMS_CONSOLE_DIR } = process.env;
  return SMS_CONSOLE_DIR ? { PATH, SMS_CONSOLE_DIR } : { PATH };
}
