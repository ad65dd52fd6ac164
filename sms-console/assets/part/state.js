// The states a page can be in while it has nothing to show: loading, empty, failed, offline.

import { Refused, Unreachable, passing } from '../api.js';
import { h, replace, replaceKeepingFocus } from '../dom.js';
import { button } from './button.js';
import { inWords } from './notice.js';

/** @typedef {import('../dom.js').Child} Child */

export function loading(text = 'Loading…') {
  return h('div', { class: 'loading', role: 'status' },
    h('span', { class: 'spinner', 'aria-hidden': 'true' }), text);
}

/**
 * @param {string} title
 * @param {Child} text
 * @param {Child} [action]
 */
export function empty(title, text, action) {
  return h('div', { class: 'state' }, h('h2', null, title), h('p', null, text), action);
}

/**
 * @param {unknown} error
 * @param {() => void} retry
 */
export function failed(error, retry) {
  const title = error instanceof Unreachable ? 'Offline'
    : error instanceof Refused && error.status === 404 ? 'Not found' : 'This did not work';
  const text = error instanceof Refused && error.status === 404
    ? 'It does not exist, or it belongs to another account.' : inWords(error);
  return h('div', { class: 'state', role: 'alert' },
    h('h2', null, title), h('p', null, text), button('Try again', retry));
}

/**
 * A part of the page that is read from the server: loading first, then what `render` makes of it,
 * or why it failed. `refresh` reads again, and shows what was there until the answer comes.
 * @template T
 * @param {AbortSignal} signal
 * @param {() => Promise<T>} read
 * @param {(value: T) => Child} render
 */
export function loaded(signal, read, render) {
  const element = h('div', { class: 'loaded', 'aria-busy': 'true' }, loading());
  let shown = false;
  let known = '';
  let asked = 0;
  let answered = 0;
  // Reads may overlap. An answer counts unless that to a later read has come before it: if only
  // the latest counted, a server that answers slowly would never be seen to change.
  const refresh = async () => {
    asked += 1;
    const mine = asked;
    try {
      const value = await read();
      if (signal.aborted || mine < answered) return;
      answered = mine;
      // Nothing moves under the hand when nothing has changed.
      const text = JSON.stringify(value);
      if (!shown || text !== known) replaceKeepingFocus(element, render(value));
      // The page has come, and now its heading.
      if (!shown && document.activeElement?.id === 'main') element.querySelector('h1')?.focus();
      known = text;
      shown = true;
    } catch (error) {
      if (signal.aborted || mine < answered) return;
      answered = mine;
      // What is on screen is worth more than an error, when only a refresh failed.
      if (!shown || !passing(error)) {
        shown = false;
        replace(element, failed(error, again));
      }
    }
    element.removeAttribute('aria-busy');
  };
  const again = () => {
    shown = false;
    replace(element, loading());
    refresh();
  };
  refresh();
  return { element, refresh };
}
