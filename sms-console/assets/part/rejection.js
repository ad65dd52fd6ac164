// Recipients that a message does not go to, each with its reason.

import { h } from '../dom.js';
import { counted, phone } from '../format.js';
import { reason } from './badge.js';

/** @param {{to: string, reason: string}[]} rejected */
export function rejections(rejected) {
  if (rejected.length === 0) return null;
  return h('div', { class: 'stack-tight' },
    h('h3', null, `${counted(rejected.length, 'recipient')} left out`),
    h('ul', { class: 'rejected small', tabindex: '0', 'aria-label': 'Recipients left out' },
      rejected.slice(0, 200).map((one) => h('li', null,
        h('strong', null, phone(one.to)), ' ', reason(one.reason)))),
    rejected.length > 200
      ? h('p', { class: 'small faint' }, 'The first 200 are shown.') : null);
}
