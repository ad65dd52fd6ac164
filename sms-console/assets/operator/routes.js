// The routes to the networks, and their connections.

import { get } from '../api.js';
import { h } from '../dom.js';
import { whole } from '../format.js';
import { badge, statusBadge } from '../part/badge.js';
import { head } from '../part/head.js';
import { loaded } from '../part/state.js';
import { table } from '../part/table.js';

/** @typedef {import('../api.js').OperatorSchemas['Route']} Route */

const READ_EVERY = 5000;

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ signal }) {
  const body = loaded(signal, async () => (await get('/admin/routes', {}, signal)).data,
    (/** @type {Route[]} */ routes) => table('Routes', columns(), routes).element);
  const timer = setInterval(body.refresh, READ_EVERY);
  signal.addEventListener('abort', () => clearInterval(timer));
  return {
    title: 'Routes',
    content: [
      head('Routes', { lead: 'The first is the default. While it is down, the next one carries '
        + 'its messages.' }),
      body.element,
    ],
  };
}

/** @returns {import('../part/table.js').Column<Route>[]} */
function columns() {
  return [
    {
      label: 'Name',
      cell: (one) => h('span', null, h('strong', null, one.name), ' ',
        one.default ? badge('Default') : null),
    },
    { label: 'State', cell: (one) => statusBadge(one.state) },
    {
      label: 'Connections',
      cell: (one) => (one.connections
        ? `${one.connections.up} of ${one.connections.wanted} up` : 'None needed'),
    },
    {
      label: 'In hand', right: true,
      cell: (one) => (one.connections ? whole(one.connections.in_hand) : '–'),
    },
    {
      label: 'Pace', right: true,
      cell: (one) => (one.connections ? `${one.connections.pace_percent}%` : '–'),
    },
    {
      label: 'Down for', right: true,
      cell: (one) => (one.connections?.down_seconds
        ? `${whole(one.connections.down_seconds)} s` : '–'),
    },
  ];
}
