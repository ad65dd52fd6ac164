// Every message, in and out, by the filters of the API. The filters are in the address.

import { withQuery } from '../api.js';
import { h } from '../dom.js';
import { fromLondon, londonDayAfter, phone, time } from '../format.js';
import { live } from '../live.js';
import { badge, statusBadge } from '../part/badge.js';
import { linkButton } from '../part/button.js';
import { field } from '../part/field.js';
import { filters } from '../part/filters.js';
import { head } from '../part/head.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';

/** @typedef {import('../api.js').Message} Message */

const STATUSES = ['scheduled', 'queued', 'sending', 'sent', 'delivered', 'undelivered', 'failed',
  'cancelled', 'received'];

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ url, signal }) {
  const fields = filterFields(url.searchParams);
  const query = () => queryOf(fields);
  const table = pagedTable({
    signal, caption: 'Messages', path: '/v1/messages', query, columns: columns(),
    empty: () => (Object.values(query()).some(Boolean)
      ? empty('Nothing found', 'No message matches these filters.')
      : empty('No messages yet', 'What you send and receive appears here.',
        linkButton('Write a message', '/console/compose', { kind: 'main' }))),
  });
  const exported = linkButton('Export as CSV', exportAddress(query()),
    { download: 'messages.csv' });
  live(signal, () => table.refreshFirst());
  return {
    title: 'Messages',
    content: [
      head('Messages', { actions: exported }),
      filters('Filter messages', fields, () => {
        exported.setAttribute('href', exportAddress(query()));
        table.refresh();
      }),
      table.element,
    ],
  };
}

/** @param {import('../api.js').Query} query */
const exportAddress = (query) => withQuery('/console/api/v1/messages/export', query);

/** @param {URLSearchParams} kept */
function filterFields(kept) {
  /** @param {string} name */
  const value = (name) => kept.get(name) ?? '';
  const shown = [
    field({
      name: 'q', label: 'Number or words', type: 'search', value: value('q'), class: 'field-grow',
    }),
    field({
      name: 'direction', label: 'Direction', type: 'select', value: value('direction'),
      options: [{ value: '', label: 'Both' }, { value: 'outbound', label: 'Sent by you' },
        { value: 'inbound', label: 'Received' }],
    }),
    field({
      name: 'status', label: 'State', type: 'select', value: value('status'),
      options: [{ value: '', label: 'Any' }, ...STATUSES.map((one) => ({
        value: one, label: one.charAt(0).toUpperCase() + one.slice(1),
      }))],
    }),
    field({ name: 'since', label: 'From day', type: 'date', value: value('since') }),
    field({ name: 'until', label: 'To day', type: 'date', value: value('until') }),
  ];
  // Filters that come with a link, from a campaign or a send, and can be emptied.
  const rare = [['client_ref', 'Your reference'], ['batch_id', 'Send'], ['campaign_id', 'Campaign']]
    .filter(([name]) => name === 'client_ref' || value(name))
    .map(([name, label]) => field({ name, label, type: 'search', value: value(name) }));
  return [...shown, ...rare];
}

/** @param {import('../part/field.js').Field[]} fields */
function queryOf(fields) {
  /** @type {Record<string, string>} */
  const query = Object.fromEntries(fields.map((one) => [one.name, one.value().trim()]));
  // Days are London's, and the last one is included.
  if (query.since) query.since = fromLondon(`${query.since}T00:00`) ?? '';
  if (query.until) {
    const next = londonDayAfter(new Date(`${query.until}T12:00:00Z`), 1);
    query.until = fromLondon(`${next}T00:00`) ?? '';
  }
  return query;
}

/** @returns {import('../part/table.js').Column<Message>[]} */
function columns() {
  return [
    {
      label: 'Person',
      cell: (one) => h('a', { class: 'row-link number', href: `/console/messages/${one.id}` },
        phone(one.contact_number)),
    },
    {
      label: 'Text',
      cell: (one) => h('span', { class: 'snippet' },
        h('span', { class: 'faint' }, one.direction === 'outbound' ? 'You: ' : 'They: '),
        one.body),
    },
    {
      label: 'State',
      cell: (one) => h('span', { class: 'actions-inline' }, statusBadge(one.status),
        one.test ? [' ', badge('Test', 'warn')] : null),
    },
    { label: 'Credits', right: true, cell: (one) => String(one.credits) },
    { label: 'When', right: true, cell: (one) => time(one.scheduled_at ?? one.created_at) },
  ];
}
