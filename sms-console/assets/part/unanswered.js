// What is said when a send was never answered: it may have been sent, and asking again under the
// same key finds out without sending it twice.

import { once, unanswered, unansweredDrop } from '../draft.js';
import { h } from '../dom.js';
import { button, workButton } from './button.js';
import { notice, toastError } from './notice.js';

/**
 * @param {string} name of the request
 * @param {(answer: any) => void} done
 * @param {() => void} dropped
 */
export function unansweredNotice(name, done, dropped) {
  if (!unanswered(name)) return null;
  return notice('warn',
    h('p', null, 'The server did not answer your last send. It may or may not have been sent.'),
    h('div', { class: 'actions' },
      workButton('Finish sending', async () => done(await once(name, '', null)), toastError,
        { kind: 'main', small: true }),
      button('Forget it', () => {
        unansweredDrop(name);
        dropped();
      }, { small: true })),
    h('p', { class: 'small' }, '“Finish sending” never sends it twice.'));
}
