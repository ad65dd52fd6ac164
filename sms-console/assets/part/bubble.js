// A conversation: each message as a bubble, under its day, with how far it got.

import { h } from '../dom.js';
import { clock, dayInWords, londonDay, worded } from '../format.js';
import { reason } from './badge.js';

/** @typedef {import('../api.js').Message} Message */

/** @param {Message[]} messages oldest first */
export function bubbles(messages) {
  const items = [];
  let day = '';
  for (const message of messages) {
    const itsDay = londonDay(new Date(message.created_at));
    if (itsDay !== day) {
      items.push(h('li', { class: 'bubble-day' }, dayInWords(message.created_at)));
    }
    day = itsDay;
    items.push(bubble(message));
  }
  return h('ol', { class: 'bubbles' }, items);
}

/** @param {Message} message */
function bubble(message) {
  const out = message.direction === 'outbound';
  const bad = message.status === 'failed' || message.status === 'undelivered';
  const why = bad && message.error_code ? reason(message.error_code) : null;
  return h('li', { class: `bubble${out ? ' bubble-out' : ''}${bad ? ' bubble-bad' : ''}` },
    h('span', { class: 'unseen' }, out ? 'You wrote: ' : 'They wrote: '),
    h('div', { class: 'bubble-text' }, message.body),
    h('div', { class: 'bubble-foot' },
      clock(message.created_at),
      out ? h('a', { href: `/console/messages/${message.id}` }, worded(message.status)) : null,
      message.test ? h('span', null, 'Test') : null,
      why ? h('span', { class: 'why' }, why) : null));
}
