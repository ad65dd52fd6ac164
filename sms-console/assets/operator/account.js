// One account: its approval, its credits, its keys, its settings.

import { get, newKey, patch, post, remove } from '../api.js';
import { h } from '../dom.js';
import { credits, time, whole, worded } from '../format.js';
import { badge, statusBadge } from '../part/badge.js';
import { button } from '../part/button.js';
import { code } from '../part/code.js';
import { confirm, dialog } from '../part/dialog.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { head } from '../part/head.js';
import { notice, toast } from '../part/notice.js';
import { empty, loaded } from '../part/state.js';
import { pagedTable, table } from '../part/table.js';

/** @typedef {import('../api.js').OperatorSchemas['Account']} Account */
/** @typedef {import('../api.js').OperatorSchemas['ApiKey']} ApiKey */
/** @typedef {import('../api.js').OperatorSchemas['LedgerEntry']} LedgerEntry */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ params, signal }) {
  const path = `/admin/accounts/${encodeURIComponent(params.id)}`;
  const ledger = pagedTable({
    signal, caption: 'Ledger', path: `${path}/ledger`, columns: ledgerColumns(),
    empty: () => empty('The ledger is empty', 'Every change of the balance is an entry.'),
  });
  const keys = loaded(signal, async () => (await get(`${path}/keys`, {}, signal)).data,
    (/** @type {ApiKey[]} */ all) => (all.length === 0
      ? empty('No keys yet', 'The account’s programs and people need one.')
      : table('API keys', keyColumns(path, () => keys.refresh()), all).element));
  const top = loaded(signal, async () => (await get(path, {}, signal)).data,
    (/** @type {Account} */ account) => accountCard(account, path, () => {
      top.refresh();
      ledger.refresh();
    }));
  return {
    title: 'Account',
    content: [top.element, h('div', { class: 'stack stack-loose after' },
      h('section', { class: 'stack', 'aria-label': 'API keys' },
        h('div', { class: 'card-head' }, h('h2', null, 'API keys'),
          button('Make a key', () => keyMake(path, keys.refresh))),
        keys.element),
      h('section', { class: 'stack', 'aria-label': 'Ledger' }, h('h2', null, 'Ledger'),
        ledger.element))],
  };
}

/** @param {Account} account @param {string} path @param {() => void} changed */
function accountCard(account, path, changed) {
  const { settings } = account;
  const { status } = account;
  return [
    head(account.name, {
      back: ['Accounts', '/console/operator/accounts'],
      beside: statusBadge(status),
      lead: ['Balance: ', h('strong', null, credits(account.credits))],
      actions: [
        status !== 'active' ? button(status === 'pending' ? 'Approve' : 'Lift the suspension',
          () => become(account, path, 'active', changed), { kind: 'main' }) : null,
        button('Top up', () => topUp(account, path, changed),
          { kind: status === 'active' ? 'main' : 'plain' }),
        button('Settings', () => edit(account, path, changed)),
        status !== 'suspended' ? button('Suspend',
          () => become(account, path, 'suspended', changed), { kind: 'danger' }) : null,
      ],
    }),
    h('section', { class: 'card' }, h('h2', null, 'Settings'), h('dl', { class: 'facts' },
      h('dt', null, 'Quiet hours'), h('dd', null,
        `${settings.quiet_hours_start} to ${settings.quiet_hours_end}, London time`),
      h('dt', null, 'Track links'), h('dd', null, settings.track_links_default ? 'Yes' : 'No'),
      h('dt', null, 'Opt-out line'), h('dd', null, settings.opt_out_line),
      h('dt', null, 'With a sender name'), h('dd', null, settings.opt_out_line_sender),
      h('dt', null, 'Id'), h('dd', null, h('code', null, account.id)))),
  ];
}

/**
 * @param {Account} account
 * @param {string} path
 * @param {'active' | 'suspended'} status
 * @param {() => void} changed
 */
function become(account, path, status, changed) {
  const active = status === 'active';
  confirm({
    title: active ? `Let “${account.name}” send?` : `Suspend “${account.name}”?`,
    text: active ? 'It can send live messages at once.'
      : 'Its keys stop sending at once. Messages that are waiting fail and are refunded.',
    action: active ? 'Let it send' : 'Suspend the account',
    danger: !active,
    run: async () => {
      await patch(path, { status });
      toast(active ? 'The account is active.' : 'The account is suspended.');
      changed();
    },
  });
}

/** @param {Account} account @param {string} path @param {() => void} changed */
function topUp(account, path, changed) {
  const amount = field({
    name: 'amount', label: 'Credits', type: 'number', required: true,
    hint: `The balance is ${whole(account.credits)}. A negative number takes credits away.`,
    attributes: { step: 1 },
  });
  const note = field({ name: 'note', label: 'Note', optional: true, hint: 'An invoice’s number.' });
  const key = newKey();
  editor({
    title: `Top up “${account.name}”`, fields: [amount, note], submit: 'Change the balance',
    save: async () => {
      const { data } = await post(`${path}/credits`, {
        amount: Number(amount.value()), note: note.value().trim() || null,
      }, key);
      toast(`The balance is ${credits(data.balance)}.`);
      changed();
    },
  });
}

/** @param {Account} account @param {string} path @param {() => void} changed */
function edit({ name, settings }, path, changed) {
  const fields = {
    name: field({ name: 'name', label: 'Name', required: true, value: name }),
    start: field({
      name: 'settings.quiet_hours_start', label: 'Quiet hours begin', type: 'time',
      value: settings.quiet_hours_start,
    }),
    end: field({
      name: 'settings.quiet_hours_end', label: 'Quiet hours end', type: 'time',
      value: settings.quiet_hours_end,
    }),
    track: field({
      name: 'settings.track_links_default', label: 'Track links unless a campaign says otherwise',
      type: 'check', value: settings.track_links_default,
    }),
    line: field({
      name: 'settings.opt_out_line', label: 'Opt-out line', value: settings.opt_out_line,
    }),
    lineSender: field({
      name: 'settings.opt_out_line_sender', label: 'Opt-out line with a sender name',
      value: settings.opt_out_line_sender, hint: '{number} is the number to text.',
    }),
  };
  editor({
    title: 'Settings of the account', fields: Object.values(fields), submit: 'Save',
    save: async () => {
      await patch(path, {
        name: fields.name.value().trim(),
        settings: {
          quiet_hours_start: fields.start.value(), quiet_hours_end: fields.end.value(),
          track_links_default: fields.track.checked(), opt_out_line: fields.line.value(),
          opt_out_line_sender: fields.lineSender.value(),
        },
      });
      toast('Saved.');
      changed();
    },
  });
}

/** @param {string} path @param {() => void} changed */
function keyMake(path, changed) {
  const kind = field({
    name: 'kind', label: 'Kind', type: 'select', value: 'test',
    options: [{ value: 'test', label: 'Test: sends nothing, charges nothing' },
      { value: 'live', label: 'Live: sends and charges' }],
  });
  const name = field({ name: 'name', label: 'Name', optional: true, hint: 'What it is used for.' });
  const key = newKey();
  editor({
    title: 'Make an API key', fields: [kind, name], submit: 'Make the key',
    save: async () => {
      const { data } = await post(`${path}/keys`, {
        kind: kind.value(), name: name.value().trim() || null,
      }, key);
      keyShow(data.key);
      changed();
    },
  });
}

/** @param {string | null} key */
function keyShow(key) {
  dialog('The new key', (close) => [
    notice('warn', h('p', null, key ? 'Copy it now: it is shown this once.'
      : 'The key was made, and has been shown already. Revoke it and make another.')),
    key ? code('API key', key) : null,
    h('div', { class: 'actions' }, button('I have copied it', close, { kind: 'main' })),
  ]);
}

/**
 * @param {string} path
 * @param {() => void} changed
 * @returns {import('../part/table.js').Column<ApiKey>[]}
 */
function keyColumns(path, changed) {
  return [
    { label: 'Name', cell: (one) => h('strong', null, one.name ?? 'No name') },
    {
      label: 'Kind',
      cell: (one) => badge(worded(one.kind), one.kind === 'live' ? 'good' : 'warn'),
    },
    { label: 'Key', cell: (one) => h('code', null, `${one.prefix}…${one.last_four}`) },
    { label: 'Made', cell: (one) => time(one.created_at) },
    { label: 'Last used', cell: (one) => time(one.last_used_at, 'Never') },
    {
      label: 'Actions', hideLabel: true,
      cell: (one) => (one.revoked_at ? badge('Revoked', 'bad')
        : h('div', { class: 'actions' }, button('Revoke', () => revoke(one, path, changed),
          { small: true, kind: 'danger', label: `Revoke ${one.name ?? one.last_four}` }))),
    },
  ];
}

/** @param {ApiKey} key @param {string} path @param {() => void} changed */
function revoke(key, path, changed) {
  confirm({
    title: `Revoke the key “${key.name ?? key.last_four}”?`,
    text: 'It stops working at once, and whoever is signed in with it is signed out.',
    action: 'Revoke the key',
    danger: true,
    run: async () => {
      await remove(`${path}/keys/${key.id}`);
      toast('The key was revoked.');
      changed();
    },
  });
}

/** @returns {import('../part/table.js').Column<LedgerEntry>[]} */
function ledgerColumns() {
  return [
    { label: 'What', cell: (one) => h('strong', null, worded(one.kind)) },
    {
      label: 'Credits', right: true,
      cell: (one) => `${one.amount > 0 ? '+' : '−'}${whole(Math.abs(one.amount))}`,
    },
    { label: 'Balance after', right: true, cell: (one) => whole(one.balance_after) },
    { label: 'Note', cell: (one) => one.note ?? '–' },
    { label: 'When', right: true, cell: (one) => time(one.created_at) },
  ];
}
