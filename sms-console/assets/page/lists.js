// The lists of contacts.

import { newKey, post } from '../api.js';
import { h } from '../dom.js';
import { time, whole } from '../format.js';
import { button } from '../part/button.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { head } from '../part/head.js';
import { toast } from '../part/notice.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';
import { navigate } from '../router.js';

/** @typedef {import('../api.js').Schemas['ContactList']} List */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ signal }) {
  const table = pagedTable({
    signal, caption: 'Lists', path: '/v1/lists', columns: columns(),
    empty: () => empty('No lists yet', 'A list holds the people that a campaign goes to.'),
  });
  return {
    title: 'Lists',
    content: [
      head('Lists', { actions: button('Make a list', make, { kind: 'main' }) }),
      table.element,
    ],
  };
}

/** @returns {import('../part/table.js').Column<List>[]} */
function columns() {
  return [
    {
      label: 'Name',
      cell: (one) => h('a', { class: 'row-link', href: `/console/lists/${one.id}` }, one.name),
    },
    { label: 'About', cell: (one) => one.description ?? '–' },
    { label: 'Contacts', right: true, cell: (one) => whole(one.contact_count) },
    { label: 'Changed', right: true, cell: (one) => time(one.updated_at) },
  ];
}

/** @param {Partial<List>} list */
export function listFields(list) {
  return [
    field({ name: 'name', label: 'Name', required: true, value: list.name ?? '' }),
    field({
      name: 'description', label: 'About', optional: true, value: list.description ?? '',
    }),
  ];
}

function make() {
  const fields = listFields({});
  const [name, description] = fields;
  const key = newKey();
  editor({
    title: 'Make a list', fields, submit: 'Make the list',
    save: async () => {
      const { data } = await post('/v1/lists', {
        name: name.value().trim(), description: description.value().trim() || null,
      }, key);
      toast('The list was made.');
      navigate(`/console/lists/${data.id}`);
    },
  });
}
