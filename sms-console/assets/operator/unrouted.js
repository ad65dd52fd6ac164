// Messages that came in on a number and belong to no account.

import { h } from '../dom.js';
import { phone, time } from '../format.js';
import { head } from '../part/head.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';

/** @typedef {import('../api.js').OperatorSchemas['UnroutedText']} Unrouted */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ signal }) {
  const table = pagedTable({
    signal, caption: 'Unrouted messages', path: '/admin/unrouted', columns: columns(),
    empty: () => empty('Nothing is unrouted', 'Every message that came in found its account.'),
  });
  return {
    title: 'Unrouted messages',
    content: [
      head('Unrouted messages', {
        lead: 'They came in on a shared number from somebody whom no account has texted lately.',
      }),
      table.element,
    ],
  };
}

/** @returns {import('../part/table.js').Column<Unrouted>[]} */
function columns() {
  return [
    { label: 'From', cell: (one) => h('strong', { class: 'number' }, phone(one.from)) },
    { label: 'To', cell: (one) => phone(one.to) },
    { label: 'Text', cell: (one) => h('span', { class: 'wrap' }, one.body) },
    { label: 'When', right: true, cell: (one) => time(one.received_at) },
  ];
}
