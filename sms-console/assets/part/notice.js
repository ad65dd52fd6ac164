// What the page says to people: notices that stay in their place, and toasts that go.

import { Refused } from '../api.js';
import { append, h } from '../dom.js';

/** @typedef {'info' | 'good' | 'warn' | 'bad'} Tone */

/**
 * @param {Tone} tone
 * @param {...import('../dom.js').Child} content
 */
export function notice(tone, ...content) {
  const role = tone === 'bad' ? 'alert' : 'note';
  return h('div', { class: `notice notice-${tone}`, role, tabindex: '-1' }, ...content);
}

/**
 * An error in words.
 * @param {unknown} error
 * @param {import('../api.js').FieldProblem[]} [fields]
 */
export function errorNotice(error, fields = []) {
  const list = fields.map((one) => h('li', null, `${one.field}: ${one.message}`));
  return notice('bad', h('p', null, inWords(error)), list.length > 0 && h('ul', null, list));
}

/** @param {unknown} error */
export function inWords(error) {
  if (error instanceof Refused && error.code === 'insufficient_credit') {
    const facts = /** @type {{needed?: number, balance?: number}} */ (error.details ?? {});
    return `Not enough credit: this needs ${facts.needed} credits and the balance is `
      + `${facts.balance}. Nothing was sent.`;
  }
  if (error instanceof Error) return error.message;
  return 'Something went wrong. Try again.';
}

const TOAST_STAYS = 6000;

/** Says briefly what was done. @param {string} text */
export function toast(text) {
  const box = document.getElementById('toasts');
  if (!box) return;
  const element = h('div', { class: 'toast' }, text);
  append(box, element);
  setTimeout(() => element.remove(), TOAST_STAYS);
}

/** @param {unknown} error */
export function toastError(error) {
  toast(inWords(error));
}
