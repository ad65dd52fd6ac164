// Tracked links: one for each address and person, and who opened it.

import { h } from '../dom.js';
import { phone, time, whole } from '../format.js';
import { live } from '../live.js';
import { head } from '../part/head.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';

/** @typedef {import('../api.js').Schemas['Link']} Link */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ url, signal }) {
  const query = () => ({
    campaign_id: url.searchParams.get('campaign_id'),
    message_id: url.searchParams.get('message_id'),
  });
  const narrowed = Object.values(query()).some(Boolean);
  const table = pagedTable({
    signal, caption: 'Tracked links', path: '/v1/links', query, columns: columns(),
    empty: () => empty('No tracked links', 'They are made when a message is sent with “Shorten '
      + 'links and count who opens them”.'),
  });
  live(signal, (happened) => {
    if (happened.has('link.clicked') || happened.has('any')) table.refreshFirst();
  });
  return {
    title: 'Tracked links',
    content: [
      head('Tracked links', {
        lead: narrowed ? [
          url.searchParams.has('campaign_id') ? 'The links of one campaign. '
            : 'The links of one message. ',
          h('a', { href: '/console/links' }, 'Show all'),
        ] : 'One for each address and person.',
      }),
      table.element,
    ],
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
