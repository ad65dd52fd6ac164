// Every account: its state and its balance.

import { newKey, post } from '../api.js';
import { h } from '../dom.js';
import { time, whole } from '../format.js';
import { statusBadge } from '../part/badge.js';
import { button } from '../part/button.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { head } from '../part/head.js';
import { toast } from '../part/notice.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';
import { navigate } from '../router.js';

/** @typedef {import('../api.js').OperatorSchemas['Account']} Account */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ signal }) {
  const table = pagedTable({
    signal, caption: 'Accounts', path: '/admin/accounts', columns: columns(),
    empty: () => empty('No accounts yet', 'An account is a customer: its keys, credits and texts.'),
  });
  return {
    title: 'Accounts',
    content: [
      head('Accounts', { actions: button('Add an account', add, { kind: 'main' }) }),
      table.element,
    ],
  };
}

/** @returns {import('../part/table.js').Column<Account>[]} */
function columns() {
  return [
    {
      label: 'Name',
      cell: (one) => h('a', { class: 'row-link', href: `/console/operator/accounts/${one.id}` },
        one.name),
    },
    { label: 'State', cell: (one) => statusBadge(one.status) },
    { label: 'Credits', right: true, cell: (one) => whole(one.credits) },
    { label: 'Made', right: true, cell: (one) => time(one.created_at) },
  ];
}

function add() {
  const name = field({ name: 'name', label: 'Name', required: true });
  const status = field({
    name: 'status', label: 'State', type: 'select', value: 'pending',
    options: [{ value: 'pending', label: 'Pending: test keys only' },
      { value: 'active', label: 'Active: may send' }],
  });
  const credits = field({
    name: 'credits', label: 'Credits to begin with', type: 'number', value: '0',
    attributes: { min: 0, step: 1 },
  });
  const key = newKey();
  editor({
    title: 'Add an account', fields: [name, status, credits], submit: 'Add the account',
    save: async () => {
      const { data } = await post('/admin/accounts', {
        name: name.value().trim(), status: status.value(), credits: Number(credits.value()),
      }, key);
      toast('The account was added.');
      navigate(`/console/operator/accounts/${data.id}`);
    },
  });
}
