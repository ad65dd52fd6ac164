// Numbers that must not be texted.

import { newKey, post, remove } from '../api.js';
import { h } from '../dom.js';
import { phone, time } from '../format.js';
import { button } from '../part/button.js';
import { confirm } from '../part/dialog.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { filters } from '../part/filters.js';
import { head } from '../part/head.js';
import { toast } from '../part/notice.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';

/** @typedef {import('../api.js').Schemas['OptOut']} OptOut */

/** @type {Record<string, string>} */
const SOURCES = { sms: 'They texted STOP', api: 'Added by your program', dashboard: 'Added here' };

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ url, signal }) {
  const search = field({
    name: 'q', label: 'Number', type: 'search', class: 'field-grow',
    value: url.searchParams.get('q') ?? '',
  });
  const table = pagedTable({
    signal, caption: 'Opt-outs', path: '/v1/opt-outs', columns: columns(() => table.refresh()),
    query: () => ({ q: search.value().trim() }),
    empty: () => (search.value() ? empty('Nothing found', 'No opt-out matches.')
      : empty('Nobody has opted out', 'Whoever texts STOP appears here.')),
  });
  return {
    title: 'Opt-outs',
    content: [
      head('Opt-outs', {
        lead: 'These numbers are never texted, whatever is sent.',
        actions: button('Add a number', () => add(table.refresh), { kind: 'main' }),
      }),
      filters('Search opt-outs', [search], table.refresh),
      table.element,
    ],
  };
}

/** @param {() => void} changed @returns {import('../part/table.js').Column<OptOut>[]} */
function columns(changed) {
  return [
    { label: 'Number', cell: (one) => h('strong', { class: 'number' }, phone(one.phone)) },
    { label: 'Why', cell: (one) => SOURCES[one.source] ?? one.source },
    { label: 'Note', cell: (one) => one.note ?? '–' },
    { label: 'Since', cell: (one) => time(one.created_at) },
    {
      label: 'Actions', hideLabel: true,
      cell: (one) => h('div', { class: 'actions' }, button('Remove', () => erase(one, changed),
        { small: true, kind: 'danger', label: `Remove ${phone(one.phone)}` })),
    },
  ];
}

/** @param {() => void} changed */
function add(changed) {
  const number = field({ name: 'phone', label: 'Mobile number', type: 'tel', required: true });
  const note = field({ name: 'note', label: 'Note', optional: true });
  const key = newKey();
  editor({
    title: 'Add an opt-out', fields: [number, note], submit: 'Never text this number',
    save: async () => {
      await post('/v1/opt-outs', {
        phone: number.value().trim(), note: note.value().trim() || null,
      }, key);
      toast('The number is not texted any more.');
      changed();
    },
  });
}

/** @param {OptOut} optOut @param {() => void} changed */
function erase(optOut, changed) {
  confirm({
    title: `Text ${phone(optOut.phone)} again?`,
    text: 'Do this only if the person has asked to hear from you again.',
    action: 'They asked for it',
    danger: true,
    run: async () => {
      await remove(`/v1/opt-outs/${encodeURIComponent(optOut.phone)}`);
      toast('The opt-out was removed.');
      changed();
    },
  });
}
