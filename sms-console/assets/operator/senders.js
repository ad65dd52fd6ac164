// The queue of sender names that wait for review.

import { post } from '../api.js';
import { h } from '../dom.js';
import { time } from '../format.js';
import { statusBadge } from '../part/badge.js';
import { button } from '../part/button.js';
import { confirm } from '../part/dialog.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { filters } from '../part/filters.js';
import { head } from '../part/head.js';
import { toast } from '../part/notice.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';

/** @typedef {import('../api.js').OperatorSchemas['ReviewedName']} Name */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ url, signal }) {
  const status = field({
    name: 'status', label: 'State', type: 'select',
    value: url.searchParams.get('status') ?? 'pending',
    options: [{ value: 'pending', label: 'Waiting' }, { value: 'approved', label: 'Approved' },
      { value: 'rejected', label: 'Rejected' }, { value: 'all', label: 'All' }],
  });
  const table = pagedTable({
    signal, caption: 'Sender names', path: '/admin/sender-ids',
    columns: columns(() => table.refresh()),
    query: () => ({ status: status.value() === 'all' ? '' : status.value() }),
    empty: () => empty('Nothing to review', 'No sender name is in this state.'),
  });
  return {
    title: 'Sender review',
    content: [head('Sender review'), filters('Filter names', [status], table.refresh),
      table.element],
  };
}

/** @param {() => void} changed @returns {import('../part/table.js').Column<Name>[]} */
function columns(changed) {
  return [
    { label: 'Name', cell: (one) => h('strong', null, one.value) },
    { label: 'For', cell: (one) => one.purpose ?? '–' },
    {
      label: 'Account',
      cell: (one) => h('a', { href: `/console/operator/accounts/${one.account_id}` },
        'Open the account'),
    },
    { label: 'State', cell: (one) => statusBadge(one.status) },
    { label: 'Reason', cell: (one) => one.reason ?? '–' },
    { label: 'Asked', cell: (one) => time(one.created_at) },
    {
      label: 'Actions', hideLabel: true,
      cell: (one) => h('div', { class: 'actions' },
        one.status === 'approved' ? null : button('Approve', () => approve(one, changed),
          { small: true, label: `Approve ${one.value}` }),
        one.status === 'rejected' ? null : button('Reject', () => reject(one, changed),
          { small: true, kind: 'danger', label: `Reject ${one.value}` })),
    },
  ];
}

/** @param {Name} name @param {() => void} changed */
function approve(name, changed) {
  confirm({
    title: `Approve “${name.value}”?`,
    text: 'The account can send with it at once.',
    action: 'Approve the name',
    run: async () => {
      await post(`/admin/sender-ids/${name.id}/approve`, {});
      toast('Approved.');
      changed();
    },
  });
}

/** @param {Name} name @param {() => void} changed */
function reject(name, changed) {
  const reason = field({
    name: 'reason', label: 'Reason', type: 'textarea', required: true,
    hint: 'The account reads it.',
  });
  editor({
    title: `Reject “${name.value}”?`, fields: [reason], submit: 'Reject the name',
    save: async () => {
      await post(`/admin/sender-ids/${name.id}/reject`, { reason: reason.value().trim() });
      toast('Rejected.');
      changed();
    },
  });
}
