// Dialogs: what must be answered before the work goes on. The browser's own <dialog> keeps the
// focus inside and gives it back.

import { h, replace, uniqueId } from '../dom.js';
import { busy, button, isBusy } from './button.js';
import { errorNotice } from './notice.js';

/** @typedef {import('../dom.js').Child} Child */

/**
 * Opens a dialog. `content` is given the function that closes it.
 * @param {string} title
 * @param {(close: () => void) => Child} content
 */
export function dialog(title, content) {
  const id = uniqueId('dialog');
  const close = () => element.close();
  const body = h('div', { class: 'dialog-body' });
  const element = h('dialog', { class: 'dialog', 'aria-labelledby': id }, body);
  replace(body, h('h2', { id }, title), content(close));
  element.addEventListener('close', () => element.remove());
  document.body.append(element);
  element.showModal();
  return { element, close };
}

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {Child} text
 * @property {string} action the words of the button that does it
 * @property {boolean} [danger]
 * @property {() => Promise<unknown>} run
 */

/** Asks before something that costs or destroys. @param {Question} question */
export function confirm({ title, text, action, danger, run }) {
  const asked = dialog(title, (close) => {
    const problems = h('div');
    const yes = button(action, async () => {
      if (isBusy(yes)) return;
      busy(yes, true);
      try {
        await run();
        close();
      } catch (error) {
        const notice = errorNotice(error);
        replace(problems, notice);
        notice.focus();
      } finally {
        busy(yes, false);
      }
    }, { kind: danger ? 'danger' : 'main' });
    return [
      typeof text === 'string' ? h('p', null, text) : text,
      problems,
      h('div', { class: 'actions' }, button('Go back', () => isBusy(yes) || close()), yes),
    ];
  });
  // While it runs, the answer is waited for: behind the dialog it could be asked for again.
  asked.element.addEventListener('cancel', (event) => {
    if (asked.element.querySelector('[aria-busy="true"]')) event.preventDefault();
  });
  return asked;
}
