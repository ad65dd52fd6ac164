// The numbers, whose they are, and whether their gateways are online.

import { everything, get, newKey, post, remove } from '../api.js';
import { h } from '../dom.js';
import { counted, phone, time } from '../format.js';
import { badge } from '../part/badge.js';
import { button, workButton } from '../part/button.js';
import { confirm } from '../part/dialog.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { head } from '../part/head.js';
import { toast, toastError } from '../part/notice.js';
import { empty, loaded } from '../part/state.js';
import { table } from '../part/table.js';

/** @typedef {import('../api.js').OperatorSchemas['Number']} Number_ */

/** @param {import('../router.js').View} view @returns {Promise<import('../router.js').Page>} */
export async function page({ signal }) {
  const accounts = await everything('/admin/accounts');
  const body = loaded(signal, async () => (await get('/admin/numbers', {}, signal)).data,
    (/** @type {Number_[]} */ all) => (all.length === 0
      ? empty('No numbers yet', 'Messages need a number to go from.')
      : table('Numbers', columns(accounts, () => body.refresh()), all).element));
  return {
    title: 'Numbers',
    content: [
      head('Numbers', {
        actions: button('Add a number', () => add(accounts, body.refresh), { kind: 'main' }),
      }),
      body.element,
    ],
  };
}

/**
 * @param {any[]} accounts
 * @param {() => void} changed
 * @returns {import('../part/table.js').Column<Number_>[]}
 */
function columns(accounts, changed) {
  return [
    { label: 'Number', cell: (one) => h('strong', { class: 'number' }, phone(one.phone_number)) },
    {
      label: 'Account',
      cell: (one) => (one.account_id
        ? h('a', { href: `/console/operator/accounts/${one.account_id}` },
          accounts.find((account) => account.id === one.account_id)?.name ?? one.account_id)
        : 'Shared'),
    },
    {
      label: 'Gateway',
      cell: (one) => (one.online ? badge('Online', 'good') : badge('Offline', 'bad')),
    },
    { label: 'Route', cell: (one) => one.route ?? 'The first' },
    {
      label: 'Rent',
      cell: (one) => (one.overdue_since ? badge(`${one.overdue_credits} overdue`, 'bad')
        : one.rental_credits > 0 ? counted(one.rental_credits, 'credit') : 'Free'),
    },
    { label: 'Assigned', cell: (one) => time(one.assigned_at) },
    {
      label: 'Actions', hideLabel: true,
      cell: (one) => h('div', { class: 'actions' },
        workButton('Check in', async () => {
          await post(`/admin/numbers/${one.id}/check-in`);
          toast('The gateway counts as online for 5 minutes.');
          changed();
        }, toastError, { small: true, label: `Check in ${phone(one.phone_number)}` }),
        button('Release', () => release(one, changed),
          { small: true, kind: 'danger', label: `Release ${phone(one.phone_number)}` })),
    },
  ];
}

/** @param {any[]} accounts @param {() => void} changed */
function add(accounts, changed) {
  const fields = {
    phone: field({ name: 'phone_number', label: 'Number', type: 'tel', required: true }),
    account: field({
      name: 'account_id', label: 'Account', type: 'select',
      options: [{ value: '', label: 'Shared by all' },
        ...accounts.map((one) => ({ value: one.id, label: one.name }))],
    }),
    rental: field({
      name: 'rental_credits', label: 'Rent in credits every 30 days', type: 'number', value: '0',
      hint: 'The first is taken at once.', attributes: { min: 0, step: 1 },
    }),
    route: field({ name: 'route', label: 'Route', optional: true }),
  };
  const key = newKey();
  editor({
    title: 'Add a number', fields: Object.values(fields), submit: 'Add the number',
    save: async () => {
      const rent = Number(fields.rental.value());
      await post('/admin/numbers', {
        phone_number: fields.phone.value().trim(),
        account_id: fields.account.value() || null,
        rental_credits: fields.account.value() ? rent : undefined,
        monthly_credits: fields.account.value() ? rent : undefined,
        route: fields.route.value().trim() || null,
      }, key);
      toast('The number was added.');
      changed();
    },
  });
}

/** @param {Number_} number @param {() => void} changed */
function release(number, changed) {
  confirm({
    title: `Release ${phone(number.phone_number)}?`,
    text: 'Nothing is sent from it any more. For 30 days it cannot be given to another account.',
    action: 'Release the number',
    danger: true,
    run: async () => {
      await remove(`/admin/numbers/${number.id}`);
      toast('The number was released.');
      changed();
    },
  });
}
