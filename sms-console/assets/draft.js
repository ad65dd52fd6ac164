// What somebody has typed, kept in this tab until it is sent; and requests that must happen once.
//
// A send carries an idempotency key. The key and the request are kept until the server has
// answered, so that a double click, a reload or a lost connection never sends twice.

import { Refused, newKey, post } from './api.js';
import { owner } from './session.js';

/** @param {string} name */
const place = (name) => `${name} of ${owner()}`;

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
export const unansweredDrop = (name) => sessionStorage.removeItem(place(`unanswered ${name}`));

/** @type {Map<string, Promise<any>>} */
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
  const running = underWay.get(name);
  if (running) return running;
  const kept = unanswered(name);
  const request = kept ?? { key: newKey(), path, body };
  write(`unanswered ${name}`, request);
  const answer = post(request.path, request.body, request.key)
    .then((done) => {
      unansweredDrop(name);
      return done;
    }, (error) => {
      if (settled(error)) unansweredDrop(name);
      throw error;
    })
    .finally(() => underWay.delete(name));
  underWay.set(name, answer);
  return answer;
}

/** Whether a failure says that nothing happened. @param {unknown} error */
function settled(error) {
  return error instanceof Refused && error.status < 500 && error.status !== 408;
}
