// Badges: a state in a word, with a colour that the word does not depend on.

import { h } from '../dom.js';
import { worded } from '../format.js';

/** @typedef {'good' | 'warn' | 'bad' | 'plain' | 'accent'} Tone */

/** @param {string} text @param {Tone} [tone] */
export function badge(text, tone = 'plain') {
  return h('span', { class: `badge badge-${tone}` }, text);
}

/** @type {Record<string, Tone>} */
const TONES = {
  delivered: 'good', received: 'plain', sent: 'plain', queued: 'plain', sending: 'plain',
  scheduled: 'warn', failed: 'bad', undelivered: 'bad', cancelled: 'plain', draft: 'warn',
  active: 'good', pending: 'warn', suspended: 'bad', approved: 'good', rejected: 'bad',
  given_up: 'bad', ready: 'good', full: 'warn', down: 'bad',
};

/** The state of a message, a campaign, an account, … @param {string} status */
export function statusBadge(status) {
  return badge(worded(status), TONES[status] ?? 'plain');
}

/** @type {Record<string, string>} */
const REASONS = {
  opted_out: 'The person has opted out.',
  expired: 'The network did not take it in time.',
  rejected_by_network: 'The network refused it.',
  unknown_subscriber: 'The number is not in use.',
  absent_subscriber: 'The phone was switched off or out of reach.',
  network_error: 'The network reported an error.',
  account_suspended: 'The account was suspended.',
  no_number: 'The account had no number to send from.',
  sender_not_approved: 'The sender name is no longer approved.',
  invalid_number: 'This is not a phone number.',
  unsupported_destination: 'Only UK numbers can be texted.',
  not_mobile: 'This is not a mobile number.',
  duplicate: 'It is in the list more than once, and is texted once.',
  too_long: 'The text is too long for this person.',
  empty_body: 'The text is empty for this person.',
};

/** Why something failed or was refused, in words. @param {string} code */
export function reason(code) {
  return REASONS[code] ?? worded(code);
}
