// The campaigns: one text to a whole list.

import { h } from '../dom.js';
import { comingTime, time, whole } from '../format.js';
import { live } from '../live.js';
import { statusBadge } from '../part/badge.js';
import { linkButton } from '../part/button.js';
import { head } from '../part/head.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';

/** @typedef {import('../api.js').Campaign} Campaign */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ signal }) {
  const make = linkButton('Draft a campaign', '/console/campaigns/new', { kind: 'main' });
  const table = pagedTable({
    signal, caption: 'Campaigns', path: '/v1/campaigns', columns: columns(),
    empty: () => empty('No campaigns yet', 'A campaign sends one text to everyone on a list.'),
  });
  live(signal, () => table.refreshFirst());
  return { title: 'Campaigns', content: [head('Campaigns', { actions: make }), table.element] };
}

/** @returns {import('../part/table.js').Column<Campaign>[]} */
function columns() {
  return [
    {
      label: 'Name',
      cell: (one) => h('a', { class: 'row-link', href: `/console/campaigns/${one.id}` }, one.name),
    },
    { label: 'State', cell: (one) => statusBadge(one.status) },
    {
      label: 'Goes', cell: (one) => (one.status === 'scheduled' && one.scheduled_at
        ? comingTime(one.scheduled_at) : time(one.launched_at)),
    },
    { label: 'People', right: true, cell: (one) => whole(one.recipients) },
    { label: 'Delivered', right: true, cell: (one) => whole(one.counts.delivered) },
    { label: 'Clicked', right: true, cell: (one) => whole(one.links.unique_clicked) },
    { label: 'Credits', right: true, cell: (one) => whole(one.credits) },
  ];
}
