// The first page: what there is to spend, how sending goes, and what needs attention.

import { get } from '../api.js';
import { h } from '../dom.js';
import { counted, phone, whole } from '../format.js';
import { live } from '../live.js';
import { badge, statusBadge } from '../part/badge.js';
import { linkButton } from '../part/button.js';
import { head, tabs } from '../part/head.js';
import { notice } from '../part/notice.js';
import { chart, stat, stats } from '../part/stat.js';
import { loaded } from '../part/state.js';

/** @typedef {import('../api.js').Schemas['StatisticsSummary']} Summary */
/** @typedef {import('../api.js').Schemas['DedicatedNumber']} DedicatedNumber */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ url, signal }) {
  const days = url.searchParams.get('days') === '1' ? 1 : 30;
  const body = loaded(signal, () => readHome(days, signal), (facts) => home(days, facts));
  live(signal, body.refresh);
  return {
    title: 'Home',
    content: [
      head('Home', {
        actions: linkButton('Write a message', '/console/compose', { kind: 'main' }),
      }),
      tabs('Period', [
        { text: 'Last 30 days', href: '/console', current: days === 30 },
        { text: 'Today', href: '/console?days=1', current: days === 1 },
      ]),
      body.element,
    ],
  };
}

/** @param {number} days @param {AbortSignal} signal */
async function readHome(days, signal) {
  /** @param {string} path @param {import('../api.js').Query} [query] */
  const read = async (path, query) => (await get(path, query, signal)).data;
  const today = new Date(Date.now() - 86_400_000).toISOString();
  const [balance, summary, series, numbers, webhooks, senders, failures] = await Promise.all([
    read('/v1/balance'), read('/v1/stats/summary', { days }),
    read('/v1/stats/timeseries', { days: 30 }), read('/v1/numbers'), read('/v1/webhooks'),
    read('/v1/sender-ids'), read('/v1/messages', { status: 'failed', since: today, limit: 5 }),
  ]);
  return { balance, summary, series, numbers, webhooks, senders, failures };
}

/** @param {number} days @param {any} facts */
function home(days, facts) {
  const { balance, summary, series, numbers } = facts;
  const against = days === 1 ? 'than yesterday' : 'than the 30 days before';
  /** @param {'sent' | 'delivered' | 'failed' | 'received'} name */
  const figure = (name) => stat(
    name.charAt(0).toUpperCase() + name.slice(1), whole(summary[name]),
    change(summary, name, against));
  return h('div', { class: 'stack stack-loose' },
    attention(facts),
    stats(
      stat('Balance', whole(balance.credits), buys(balance)),
      figure('sent'), figure('delivered'), figure('failed'), figure('received')),
    h('section', { class: 'card' }, h('h2', null, 'By day'), chart('Messages by day', series, [
      { name: 'Sent', kind: 'main', of: (day) => day.sent },
      { name: 'Received', kind: 'other', of: (day) => day.received },
      { name: 'Failed', kind: 'bad', of: (day) => day.failed },
    ])),
    h('section', { class: 'card' }, h('h2', null, 'Your numbers'), numberList(numbers)));
}

/** @param {{credits: number, account_status: string}} balance */
function buys(balance) {
  return `Credits, enough for ${counted(balance.credits, 'message')} of one part`;
}

/** @param {Summary} summary @param {'sent' | 'delivered' | 'failed' | 'received'} name
 * @param {string} against */
function change(summary, name, against) {
  const percent = summary.change[name];
  if (percent === null) return summary.previous[name] === 0 ? 'None before' : null;
  if (percent === 0) return `As many ${against.replace('than', 'as')}`;
  const by = `${whole(Math.abs(Math.round(percent)))}%`;
  return `${by} ${percent > 0 ? 'more' : 'fewer'} ${against}`;
}

/** @param {DedicatedNumber[]} numbers */
function numberList(numbers) {
  if (numbers.length === 0) {
    return h('p', { class: 'faint' },
      'You have no number of your own. Messages go from a shared number.');
  }
  return h('dl', { class: 'facts' }, numbers.map((one) => [
    h('dt', null, one.phone_number ? phone(one.phone_number) : 'Not assigned yet'),
    h('dd', null, one.online ? badge('Online', 'good') : badge('Offline', 'bad'), ' ',
      one.rental_credits > 0 ? `${counted(one.rental_credits, 'credit')} every 30 days` : 'Free'),
  ]));
}

/** @param {any} facts */
function attention({ balance, webhooks, senders, failures, numbers }) {
  const items = [];
  if (balance.account_status !== 'active') {
    items.push(['The account is ', statusBadge(balance.account_status),
      ': it cannot send live messages. Ask whoever runs the service.']);
  }
  if (balance.account_status === 'active' && balance.credits === 0) {
    items.push(['There are no credits left. Ask whoever runs the service for a top-up.']);
  }
  if (failures.length > 0) {
    items.push([h('a', { href: '/console/messages?status=failed' },
      failures.length === 5 ? '5 or more messages failed'
        : `${counted(failures.length, 'message')} failed`),
    ' in the last day. They were refunded.']);
  }
  for (const one of webhooks.filter((/** @type {any} */ hook) => !hook.enabled)) {
    const href = `/console/developers/webhooks/${one.id}`;
    items.push(['The endpoint ', h('a', { href }, one.url),
      one.disabled_reason === 'consecutive_failures' ? ' was switched off: it failed 100 times.'
        : ' is off.']);
  }
  for (const one of senders.filter((/** @type {any} */ name) => name.status === 'rejected')) {
    items.push(['The sender name ', h('a', { href: '/console/senders' }, one.value),
      ` was rejected${one.reason ? `: ${one.reason}` : '.'}`]);
  }
  for (const one of numbers) {
    if (!rentOverdue(one)) continue;
    items.push([`The rent of ${phone(one.phone_number)} is overdue. It is taken as soon as the `
      + 'balance allows.']);
  }
  if (items.length === 0) return null;
  return notice('warn', h('h2', null, 'Needs attention'),
    h('ul', null, items.map((one) => h('li', null, one))));
}

/** @param {DedicatedNumber} number */
function rentOverdue(number) {
  if (number.rental_credits === 0) return false;
  const last = Date.parse(number.rental_charged_at ?? number.assigned_at);
  return Date.now() - last > 31 * 86_400_000;
}
