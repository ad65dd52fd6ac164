// What happened to a message, in order.

import { h } from '../dom.js';
import { fullTime, worded } from '../format.js';
import { reason } from './badge.js';

/** @param {{status: string, detail: string | null, at: string}[]} events */
export function timeline(events) {
  return h('ol', { class: 'timeline' }, events.map((event) => h('li', null,
    h('strong', null, worded(event.status)),
    h('div', { class: 'small faint' },
      h('time', { datetime: event.at }, fullTime(new Date(event.at)))),
    event.detail ? h('div', null, reason(event.detail)) : null)));
}
