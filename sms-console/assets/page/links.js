// Tracked links: one for each address and person, and who opened it.

import { h } from '../dom.js';
import { phone, time, whole } from '../format.js';
import { live } from '../live.js';
import { field } from '../part/field.js';
import { filters } from '../part/filters.js';
import { head } from '../part/head.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';

/** @typedef {import('../api.js').Schemas['Link']} Link */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ url, signal }) {
  const fields = [['campaign_id', 'Campaign’s id'], ['message_id', 'Message’s id']]
    .map(([name, label]) => field({
      name, label, type: 'search', value: url.searchParams.get(name) ?? '', class: 'field-grow',
    }));
  const query = () => Object.fromEntries(fields.map((one) => [one.name, one.value().trim()]));
  const table = pagedTable({
    signal, caption: 'Tracked links', path: '/v1/links', query, columns: columns(),
    empty: () => empty('No tracked links', 'They are made when a message is sent with “Shorten '
      + 'links and count who opens them”.'),
  });
  live(signal, (event) => {
    if (event.type === 'link.clicked' || event.type === 'poll') table.refreshFirst();
  });
  return {
    title: 'Tracked links',
    content: [head('Tracked links'), filters('Filter links', fields, table.refresh),
      table.element],
  };
}

/** @returns {import('../part/table.js').Column<Link>[]} */
function columns() {
  return [
    { label: 'Leads to', cell: (one) => h('strong', null, one.url) },
    { label: 'Short address', cell: (one) => h('code', null, one.short_url) },
    {
      label: 'Person',
      cell: (one) => (one.contact_number
        ? h('a', { href: `/console/messages/${one.message_id}` }, phone(one.contact_number)) : '–'),
    },
    { label: 'Clicks', right: true, cell: (one) => whole(one.clicks) },
    { label: 'First', cell: (one) => time(one.first_clicked_at, 'Not opened') },
    { label: 'Last', cell: (one) => time(one.last_clicked_at) },
  ];
}
