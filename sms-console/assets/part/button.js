// Buttons, and links that look like them.

import { h } from '../dom.js';

/** @typedef {'main' | 'danger' | 'quiet' | 'plain'} Kind */

/**
 * @typedef {object} ButtonOptions
 * @property {Kind} [kind]
 * @property {boolean} [small]
 * @property {boolean} [disabled]
 * @property {string} [label] what a screen reader says in the place of the text
 * @property {'submit' | 'button'} [type]
 */

/** @param {Kind} [kind] @param {boolean} [small] */
const classes = (kind = 'plain', small = false) => (
  `button button-${kind}${small ? ' button-small' : ''}`
);

/**
 * @param {import('../dom.js').Child} text
 * @param {((event: MouseEvent) => unknown) | null} onclick
 * @param {ButtonOptions} [options]
 */
export function button(text, onclick, { kind, small, disabled, label, type = 'button' } = {}) {
  const props = { type, class: classes(kind, small), disabled, 'aria-label': label, onclick };
  return h('button', props, text);
}

/**
 * @param {string} text
 * @param {string} href
 * @param {ButtonOptions & {download?: string}} [options]
 */
export function linkButton(text, href, { kind, small, label, download } = {}) {
  return h('a', { class: classes(kind, small), href, 'aria-label': label, download }, text);
}

/**
 * Says that a button's work is under way. It stays where it is and keeps the focus.
 * @param {HTMLButtonElement} element
 * @param {boolean} under
 */
export function busy(element, under) {
  if (under) {
    element.setAttribute('aria-busy', 'true');
    element.setAttribute('aria-disabled', 'true');
  } else {
    element.removeAttribute('aria-busy');
    element.removeAttribute('aria-disabled');
  }
}

/** @param {HTMLElement} element */
export const isBusy = (element) => element.getAttribute('aria-busy') === 'true';

/**
 * A button whose work takes time. A second click does nothing until the first is done.
 * @param {string} text
 * @param {() => Promise<unknown>} work
 * @param {(error: unknown) => void} failed
 * @param {ButtonOptions} [options]
 */
export function workButton(text, work, failed, options) {
  const element = button(text, async () => {
    if (isBusy(element)) return;
    busy(element, true);
    try {
      await work();
    } catch (error) {
      failed(error);
    } finally {
      busy(element, false);
    }
  }, options);
  return element;
}
