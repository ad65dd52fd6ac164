// Keywords: the first word of a message that answers by itself and adds the sender to a list.

import { everything, newKey, patch, post, remove } from '../api.js';
import { h } from '../dom.js';
import { time, whole } from '../format.js';
import { badge } from '../part/badge.js';
import { button } from '../part/button.js';
import { confirm } from '../part/dialog.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { head } from '../part/head.js';
import { toast } from '../part/notice.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';

/** @typedef {import('../api.js').Schemas['Keyword']} Keyword */

/** @param {import('../router.js').View} view @returns {Promise<import('../router.js').Page>} */
export async function page({ signal }) {
  const lists = await everything('/v1/lists');
  const table = pagedTable({
    signal, caption: 'Keywords', path: '/v1/keywords',
    columns: columns(lists, () => table.refresh()),
    empty: () => empty('No keywords yet',
      'Somebody texts MENU, and gets the menu. STOP and START work by themselves.'),
  });
  return {
    title: 'Keywords',
    content: [
      head('Keywords', {
        actions: button('Add a keyword', () => edit(null, lists, table.refresh), { kind: 'main' }),
      }),
      table.element,
    ],
  };
}

/**
 * @param {any[]} lists
 * @param {() => void} changed
 * @returns {import('../part/table.js').Column<Keyword>[]}
 */
function columns(lists, changed) {
  return [
    {
      label: 'Keyword',
      cell: (one) => h('span', null, h('strong', null, one.keyword), ' ',
        one.enabled ? null : badge('Off', 'warn')),
    },
    { label: 'Reply', cell: (one) => h('span', { class: 'snippet' }, one.reply ?? 'No reply') },
    {
      label: 'Adds to',
      cell: (one) => lists.find((list) => list.id === one.add_to_list_id)?.name ?? '–',
    },
    { label: 'Used', right: true, cell: (one) => whole(one.match_count) },
    { label: 'Last used', cell: (one) => time(one.last_matched_at, 'Never') },
    {
      label: 'Actions', hideLabel: true,
      cell: (one) => h('div', { class: 'actions' },
        button('Edit', () => edit(one, lists, changed),
          { small: true, label: `Edit ${one.keyword}` }),
        button('Delete', () => erase(one, changed),
          { small: true, kind: 'danger', label: `Delete ${one.keyword}` })),
    },
  ];
}

/** @param {Keyword | null} keyword @param {any[]} lists @param {() => void} changed */
function edit(keyword, lists, changed) {
  const word = field({
    name: 'keyword', label: 'Keyword', required: true, value: keyword?.keyword ?? '',
    maxlength: 20, hint: 'Letters and digits. It is the first word of what people text.',
  });
  const reply = field({
    name: 'reply', label: 'Reply', type: 'textarea', optional: true, value: keyword?.reply ?? '',
    hint: 'Each reply costs one credit a part.',
  });
  const list = field({
    name: 'add_to_list_id', label: 'Add the sender to', type: 'select',
    value: keyword?.add_to_list_id ?? '',
    options: [{ value: '', label: 'No list' },
      ...lists.map((one) => ({ value: one.id, label: one.name }))],
  });
  const enabled = field({
    name: 'enabled', label: 'On', type: 'check', value: keyword?.enabled ?? true,
  });
  const key = newKey();
  editor({
    title: keyword ? 'Edit the keyword' : 'Add a keyword', fields: [word, reply, list, enabled],
    submit: keyword ? 'Save' : 'Add the keyword',
    save: async () => {
      const input = {
        keyword: word.value().trim(), reply: reply.value().trim() || null,
        add_to_list_id: list.value() || null, enabled: enabled.checked(),
      };
      if (keyword) await patch(`/v1/keywords/${keyword.id}`, input);
      else await post('/v1/keywords', input, key);
      toast('Saved.');
      changed();
    },
  });
}

/** @param {Keyword} keyword @param {() => void} changed */
function erase(keyword, changed) {
  confirm({
    title: `Delete the keyword ${keyword.keyword}?`,
    text: 'Whoever texts it gets no reply any more.',
    action: 'Delete the keyword',
    danger: true,
    run: async () => {
      await remove(`/v1/keywords/${keyword.id}`);
      toast('The keyword was deleted.');
      changed();
    },
  });
}
