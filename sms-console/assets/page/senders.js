// Sender names, and where their review stands.

import { get, newKey, post } from '../api.js';
import { h } from '../dom.js';
import { time } from '../format.js';
import { statusBadge } from '../part/badge.js';
import { button } from '../part/button.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { head } from '../part/head.js';
import { toast } from '../part/notice.js';
import { empty, loaded } from '../part/state.js';
import { table } from '../part/table.js';

/** @typedef {import('../api.js').Schemas['SenderName']} SenderName */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ signal }) {
  const body = loaded(signal, async () => (await get('/v1/sender-ids', {}, signal)).data,
    (/** @type {SenderName[]} */ names) => (names.length === 0
      ? empty('No sender names yet', 'People see a sender name in the place of a number, and '
        + 'cannot answer it.')
      : table('Sender names', columns(), names).element));
  return {
    title: 'Sender names',
    content: [
      head('Sender names', {
        lead: 'A new name is reviewed before it can be used.',
        actions: button('Ask for a name', () => ask(body.refresh), { kind: 'main' }),
      }),
      body.element,
    ],
  };
}

/** @returns {import('../part/table.js').Column<SenderName>[]} */
function columns() {
  return [
    { label: 'Name', cell: (one) => h('strong', null, one.value) },
    { label: 'State', cell: (one) => statusBadge(one.status) },
    { label: 'For', cell: (one) => one.purpose ?? '–' },
    { label: 'Reason', cell: (one) => one.reason ?? '–' },
    { label: 'Asked', cell: (one) => time(one.created_at) },
    { label: 'Reviewed', cell: (one) => time(one.reviewed_at, 'Not yet') },
  ];
}

/** @param {() => void} changed */
function ask(changed) {
  const value = field({
    name: 'value', label: 'Name', required: true, maxlength: 11,
    hint: '3 to 11 letters, digits, spaces and & . _ -',
  });
  const purpose = field({
    name: 'purpose', label: 'What you use it for', type: 'textarea', required: true,
    hint: 'It helps whoever reviews it.',
  });
  const key = newKey();
  editor({
    title: 'Ask for a sender name', fields: [value, purpose], submit: 'Ask for it',
    save: async () => {
      await post('/v1/sender-ids', {
        value: value.value().trim(), purpose: purpose.value().trim(),
      }, key);
      toast('The name waits for its review.');
      changed();
    },
  });
}
