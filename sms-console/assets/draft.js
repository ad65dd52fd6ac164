// What somebody has typed, kept in this tab until it is sent; and requests that must happen once.
//
// A send carries an idempotency key. The key and the request are kept until the server has
// answered, so that a double click, a reload or a lost connection never sends twice.

import { Refused, newKey, post } from './api.js';
import { owner } from './session.js';

/** @param {string} name */
const place = (name) => `${name} of ${owner()}`;
/** @param {string} name */
const unansweredPlace = (name) => place(`unanswered ${name}`);

/**
 * @template T
 * @param {string} name
 * @returns {T | null}
 */
function read(name) {
  try {
    return JSON.parse(sessionStorage.getItem(place(name)) ?? 'null');
  } catch {
    return null;
  }
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function write(name, value) {
  try {
    sessionStorage.setItem(place(name), JSON.stringify(value));
  } catch {
    // A full store loses the draft of a reload, and nothing else.
  }
}

/** @template T @param {string} name @returns {T | null} */
export const draftRead = (name) => read(`draft ${name}`);
/** @param {string} name @param {unknown} value */
export const draftWrite = (name, value) => write(`draft ${name}`, value);
/** @param {string} name */
export const draftDrop = (name) => sessionStorage.removeItem(place(`draft ${name}`));

/** @typedef {{key: string, path: string, body: any}} Unanswered */

/** A request whose answer was never seen. @param {string} name @returns {Unanswered | null} */
export const unanswered = (name) => read(`unanswered ${name}`);
/** @param {string} name */
export const unansweredDrop = (name) => sessionStorage.removeItem(unansweredPlace(name));

/** By the place of what is kept of them. @type {Map<string, Promise<any>>} */
const underWay = new Map();

/**
 * Sends a request that must happen once. While one of this name is under way, it is the one that
 * answers; one that was never answered is sent again under its own key.
 * @param {string} name
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<any>}
 */
export function once(name, path, body) {
  // The answer may come when somebody else has signed in: it is about whoever asked.
  const mine = unansweredPlace(name);
  const running = underWay.get(mine);
  if (running) return running;
  const kept = unanswered(name);
  const request = kept ?? { key: newKey(), path, body };
  write(`unanswered ${name}`, request);
  const answer = post(request.path, request.body, request.key)
    .then((done) => {
      sessionStorage.removeItem(mine);
      return done;
    }, (error) => {
      if (settled(error, kept !== null)) sessionStorage.removeItem(mine);
      throw error;
    })
    .finally(() => underWay.delete(mine));
  underWay.set(mine, answer);
  return answer;
}

/** What is refused before the server looks whether it has seen the key. */
const UNSEEN = [401, 403, 429];

/**
 * Whether a failure says that nothing happened. Asked for the second time, only a refusal of the
 * request itself says so of the first.
 * @param {unknown} error
 * @param {boolean} second
 */
function settled(error, second) {
  if (!(error instanceof Refused) || error.status >= 500 || error.status === 408) return false;
  return !second || !UNSEEN.includes(error.status);
}
