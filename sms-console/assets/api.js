// Speaks to the server: the API's own paths, by the session's cookie.

import { debounced } from './dom.js';

/** @typedef {import('api-types').components['schemas']} Schemas */
/** @typedef {import('operator-types').components['schemas']} OperatorSchemas */
/** @typedef {Schemas['Message']} Message */
/** @typedef {Schemas['Contact']} Contact */
/** @typedef {Schemas['Campaign']} Campaign */
/** @typedef {{field: string, code: string, message: string}} FieldProblem */
/** @typedef {Record<string, string | number | boolean | null | undefined>} Query */
/**
 * @template T, [M=any]
 * @typedef {{data: T, meta: M}} Answer
 */
/** @typedef {{csrf: string, onExpired: () => void, onReach: (reached: boolean) => void,
 *   renew: () => Promise<unknown>}} Link */

const ROOT = '/console/api';

/** The server refused. `code` says why, `message` is for people. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {unknown} details
   */
  constructor(status, code, message, details) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** What is wrong with which field. @returns {FieldProblem[]} */
  get fields() {
    return Array.isArray(this.details) ? this.details : [];
  }
}

/** The server did not answer. What was asked may or may not have happened. */
export class Unreachable extends Error {
  constructor() {
    super('The server does not answer. Check your connection and try again.');
  }
}

/** Whether a failure may be gone at the next try, and says nothing of what was asked for.
 * @param {unknown} error */
export function passing(error) {
  return error instanceof Unreachable
    || (error instanceof Refused && (error.status === 429 || error.status >= 500));
}

/** @type {Link} */
const link = { csrf: '', onExpired: () => {}, onReach: () => {}, renew: async () => {} };

/** Says how the session is held. @param {Partial<Link>} change */
export function connect(change) {
  Object.assign(link, change);
}

// Several requests fail together when a server stops: the page says so once.
const tellReach = debounced(0, (/** @type {boolean} */ reached) => link.onReach(reached));

/**
 * @param {string} path
 * @param {Query} [query]
 */
export function withQuery(path, query = {}) {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name, value]) => [name, String(value)]);
  const text = new URLSearchParams(pairs).toString();
  return text ? `${path}?${text}` : path;
}

/**
 * @typedef {object} Request
 * @property {unknown} [body]
 * @property {Query} [query]
 * @property {AbortSignal} [signal]
 * @property {string} [key] the idempotency key
 * @property {boolean} [again] whether this is the second try
 */

/**
 * Asks the server. Throws `Refused`, `Unreachable`, or the browser's `AbortError`.
 * @param {string} method
 * @param {string} path
 * @param {Request} [request]
 * @returns {Promise<any>}
 */
export async function ask(method, path, { body, query, signal, key, again } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: 'application/json' };
  if (method !== 'GET') headers['X-CSRF-Token'] = link.csrf;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (key) headers['Idempotency-Key'] = key;
  const address = path.startsWith('/console/') ? path : ROOT + path;
  const response = await reach(withQuery(address, query), {
    method, headers, signal, credentials: 'same-origin', cache: 'no-store',
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (response.status === 204) return { data: null, meta: null };
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer;
  const error = answer?.error ?? {};
  if (error.code === 'csrf_token_invalid' && !again) {
    // Another tab has signed in since: this one learns the session's token, and asks once more.
    await link.renew();
    return ask(method, path, { body, query, signal, key, again: true });
  }
  if (response.status === 401 && address !== '/console/session') link.onExpired();
  const wait = response.headers.get('Retry-After');
  const message = response.status === 429 && wait
    ? `Too many requests at once. Try again in ${wait} seconds.`
    : error.message ?? `The server answered ${response.status}.`;
  throw new Refused(response.status, error.code ?? 'unknown', sentence(message), error.details);
}

/**
 * @param {string} address
 * @param {RequestInit} options
 */
async function reach(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    tellReach(false);
    throw new Unreachable();
  }
  // A proxy in front of a server that is down answers for it.
  const reached = ![502, 504].includes(response.status);
  tellReach(reached);
  if (!reached) throw new Unreachable();
  return response;
}

/** The API's messages begin in lower case and have no full stop. @param {string} message */
function sentence(message) {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/**
 * @param {string} path
 * @param {Query} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answer<any>>}
 */
export const get = (path, query, signal) => ask('GET', path, { query, signal });

/**
 * @param {string} path
 * @param {unknown} [body]
 * @param {string} [key]
 * @returns {Promise<Answer<any>>}
 */
export const post = (path, body, key) => ask('POST', path, { body, key });

/**
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<Answer<any>>}
 */
export const patch = (path, body) => ask('PATCH', path, { body });

/**
 * @param {string} path
 * @returns {Promise<Answer<any>>}
 */
export const remove = (path) => ask('DELETE', path);

/** Reads every page of a list, up to `most` things. @param {string} path @param {Query} [query] */
export async function everything(path, query = {}, most = 500) {
  /** @type {any[]} */
  const all = [];
  /** @type {string | null} */
  let cursor = null;
  do {
    const page = await get(path, { ...query, limit: 100, cursor });
    all.push(...page.data);
    cursor = page.meta?.next_cursor ?? null;
  } while (cursor && all.length < most);
  return all;
}

/** A new idempotency key. `crypto.randomUUID` is not there on a page that came without HTTPS. */
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))]
  .map((one) => one.toString(16).padStart(2, '0')).join('');
