// Saved texts.

import { newKey, patch, post, remove } from '../api.js';
import { h } from '../dom.js';
import { time } from '../format.js';
import { button, linkButton } from '../part/button.js';
import { confirm } from '../part/dialog.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { filters } from '../part/filters.js';
import { head } from '../part/head.js';
import { toast } from '../part/notice.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';

/** @typedef {import('../api.js').Schemas['Template']} Template */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ url, signal }) {
  const search = field({
    name: 'q', label: 'Name or words', type: 'search', class: 'field-grow',
    value: url.searchParams.get('q') ?? '',
  });
  const table = pagedTable({
    signal, caption: 'Templates', path: '/v1/templates', columns: columns(() => table.refresh()),
    query: () => ({ q: search.value().trim() }),
    empty: () => (search.value() ? empty('Nothing found', 'No template matches.')
      : empty('No templates yet', 'Keep texts here that you send again and again.')),
  });
  const add = button('Add a template', () => edit(null, table.refresh), { kind: 'main' });
  return {
    title: 'Templates',
    content: [
      head('Templates', { actions: add }),
      filters('Search templates', [search], table.refresh),
      table.element,
    ],
  };
}

/** @param {() => void} changed @returns {import('../part/table.js').Column<Template>[]} */
function columns(changed) {
  return [
    { label: 'Name', cell: (one) => h('strong', null, one.name) },
    { label: 'Text', cell: (one) => h('span', { class: 'snippet' }, one.body) },
    { label: 'Changed', cell: (one) => time(one.updated_at) },
    {
      label: 'Actions', hideLabel: true,
      cell: (one) => h('div', { class: 'actions' },
        linkButton('Use', `/console/compose?template=${one.id}`,
          { small: true, label: `Use ${one.name}` }),
        button('Edit', () => edit(one, changed), { small: true, label: `Edit ${one.name}` }),
        button('Delete', () => erase(one, changed),
          { small: true, kind: 'danger', label: `Delete ${one.name}` })),
    },
  ];
}

/** @param {Template | null} template @param {() => void} changed */
function edit(template, changed) {
  const name = field({
    name: 'name', label: 'Name', required: true, value: template?.name ?? '',
  });
  const body = field({
    name: 'body', label: 'Text', type: 'textarea', required: true, value: template?.body ?? '',
    hint: '{first_name}, {last_name}, {full_name}, {phone}, {email} and custom fields are filled '
      + 'in for each person.',
  });
  const key = newKey();
  editor({
    title: template ? 'Edit the template' : 'Add a template', fields: [name, body],
    submit: template ? 'Save' : 'Add the template',
    save: async () => {
      const input = { name: name.value().trim(), body: body.value() };
      if (template) await patch(`/v1/templates/${template.id}`, input);
      else await post('/v1/templates', input, key);
      toast('Saved.');
      changed();
    },
  });
}

/** @param {Template} template @param {() => void} changed */
function erase(template, changed) {
  confirm({
    title: `Delete “${template.name}”?`,
    text: 'Messages that used it stay as they are.',
    action: 'Delete the template',
    danger: true,
    run: async () => {
      await remove(`/v1/templates/${template.id}`);
      toast('The template was deleted.');
      changed();
    },
  });
}
