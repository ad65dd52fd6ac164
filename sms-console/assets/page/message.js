// One message: its words, its facts and what happened to it.

import { get, post } from '../api.js';
import { h } from '../dom.js';
import { credits, phone, time } from '../format.js';
import { live } from '../live.js';
import { badge, reason, statusBadge } from '../part/badge.js';
import { button, linkButton } from '../part/button.js';
import { asRequest } from '../part/code.js';
import { confirm } from '../part/dialog.js';
import { head } from '../part/head.js';
import { notice, toast } from '../part/notice.js';
import { loaded } from '../part/state.js';
import { timeline } from '../part/timeline.js';
import { testMode } from '../session.js';

/** @typedef {import('../api.js').Schemas['MessageWithEvents']} Message */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ params, signal }) {
  const path = `/v1/messages/${encodeURIComponent(params.id)}`;
  /** @type {() => void} */
  let again = () => {};
  const body = loaded(signal, async () => (await get(path, {}, signal)).data,
    (/** @type {Message} */ message) => messageCard(message, () => again()));
  again = body.refresh;
  live(signal, body.refresh);
  return {
    title: 'Message',
    content: [head('Message', { back: ['Messages', '/console/messages'] }), body.element],
  };
}

/** @param {Message} message @param {() => void} changed */
function messageCard(message, changed) {
  const out = message.direction === 'outbound';
  const cancellable = ['scheduled', 'queued'].includes(message.status);
  return h('div', { class: 'stack' },
    message.error_code ? notice('bad', h('p', null, reason(message.error_code))) : null,
    h('div', { class: 'columns' },
      h('section', { class: 'card stack' },
        h('div', { class: 'card-head' }, h('h2', null, phone(message.contact_number)),
          statusBadge(message.status), message.test ? badge('Test', 'warn') : null),
        h('p', { class: 'wrap' }, message.body),
        h('div', { class: 'actions' },
          linkButton('Open the conversation',
            `/console/inbox/${encodeURIComponent(message.contact_number)}`, { small: true }),
          message.contact_id ? linkButton('Open the contact',
            `/console/contacts/${message.contact_id}`, { small: true }) : null,
          cancellable ? button('Cancel this message', () => cancel(message, changed),
            { kind: 'danger', small: true }) : null)),
      h('section', { class: 'card' }, h('h2', null, 'What happened'), timeline(message.events))),
    h('section', { class: 'card' }, h('h2', null, 'Details'), h('dl', { class: 'facts' },
      facts(message, out).filter(([, value]) => value !== null && value !== '')
        .map(([name, value]) => [h('dt', null, name), h('dd', null, value)]))),
    asRequest('GET', `/v1/messages/${message.id}`));
}

/** @param {Message} message @param {boolean} out @returns {[string, any][]} */
function facts(message, out) {
  const encoding = message.encoding === 'gsm7' ? 'GSM-7' : 'UCS-2';
  return [
    [out ? 'To' : 'From', phone(message.contact_number)],
    [out ? 'Sent from' : 'Received on', out ? message.sender ?? phone(message.from)
      : phone(message.to)],
    ['Length', `${message.segments} ${message.segments === 1 ? 'part' : 'parts'}, ${encoding}`],
    ['Price', out ? credits(message.credits) : null],
    ['Route', message.route],
    ['Your reference', message.client_ref],
    ['Made', time(message.created_at)],
    ['Scheduled for', message.scheduled_at ? time(message.scheduled_at) : null],
    ['Send', message.batch_id ? h('a', {
      href: `/console/messages?batch_id=${message.batch_id}`,
    }, 'All messages of this send') : null],
    ['Campaign', message.campaign_id ? h('a', {
      href: `/console/campaigns/${message.campaign_id}`,
    }, 'Open the campaign') : null],
    ['Id', h('code', null, message.id)],
  ];
}

/** @param {Message} message @param {() => void} changed */
function cancel(message, changed) {
  const back = testMode() || message.credits === 0 ? ''
    : ` ${credits(message.credits)} will be refunded.`;
  confirm({
    title: 'Cancel this message?',
    text: `It will not be sent to ${phone(message.contact_number)}.${back}`,
    action: 'Cancel the message',
    danger: true,
    run: async () => {
      await post(`/v1/messages/${message.id}/cancel`);
      toast('Cancelled.');
      changed();
    },
  });
}
