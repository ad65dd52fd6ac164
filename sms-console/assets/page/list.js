// One list: who is on it, adding and removing.

import { get, patch, post, remove } from '../api.js';
import { h } from '../dom.js';
import { counted, fullName, phone } from '../format.js';
import { button, linkButton, workButton } from '../part/button.js';
import { confirm, dialog } from '../part/dialog.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { head } from '../part/head.js';
import { notice, toast, toastError } from '../part/notice.js';
import { empty, loaded } from '../part/state.js';
import { pagedTable } from '../part/table.js';
import { navigate } from '../router.js';
import { contactColumns } from './contacts.js';
import { listFields } from './lists.js';

/** @typedef {import('../api.js').Schemas['ContactList']} List */
/** @typedef {import('../api.js').Contact} Contact */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ params, signal }) {
  const path = `/v1/lists/${encodeURIComponent(params.id)}`;
  const members = pagedTable({
    signal, caption: 'Contacts on this list', path: `${path}/contacts`,
    columns: [...contactColumns().slice(0, 4), {
      label: 'Actions', hideLabel: true,
      cell: (/** @type {Contact} */ one) => h('div', { class: 'actions' },
        workButton('Remove', async () => {
          await remove(`${path}/contacts/${one.id}`);
          refresh();
        }, toastError, {
          small: true, kind: 'quiet',
          label: `Remove ${fullName(one) || phone(one.phone)} from the list`,
        })),
    }],
    empty: () => empty('Nobody is on this list', 'Add numbers, or import a CSV file into it.',
      linkButton('Import from CSV', `/console/contacts/import?list=${params.id}`)),
  });
  const top = loaded(signal, async () => (await get(path, {}, signal)).data,
    (/** @type {List} */ list) => listHead(list, path, refresh));
  const refresh = () => {
    top.refresh();
    members.refresh();
  };
  return { title: 'List', content: [top.element, members.element] };
}

/**
 * @param {List} list
 * @param {string} path
 * @param {() => void} changed
 */
function listHead(list, path, changed) {
  return head(list.name, {
    back: ['Lists', '/console/lists'],
    lead: [counted(list.contact_count, 'contact'), list.description ? `. ${list.description}` : ''],
    actions: [
      linkButton('Write to this list', `/console/compose?list=${list.id}`, { kind: 'main' }),
      button('Add people', () => add(path, changed)),
      button('Rename', () => rename(list, path, changed)),
      button('Delete', () => erase(list, path), { kind: 'danger' }),
    ],
  });
}

/** @param {string} path @param {() => void} changed */
function add(path, changed) {
  const numbers = field({
    name: 'phones', label: 'Numbers', type: 'textarea', required: true,
    hint: 'One on each line, or with commas between. New numbers become contacts.',
  });
  editor({
    title: 'Add people', fields: [numbers], submit: 'Add them',
    save: async () => {
      const phones = numbers.value().split(/[,\n;]/).map((one) => one.trim()).filter(Boolean);
      const { data } = await post(`${path}/contacts`, { phones });
      toast(`${counted(data.added, 'person', 'people')} added.`);
      if (data.invalid.length > 0) refused(data.invalid);
      changed();
    },
  });
}

/** @param {string[]} invalid */
function refused(invalid) {
  dialog('Some numbers were not added', (close) => [
    notice('warn', h('p', null, 'These are not UK mobile numbers:'),
      h('ul', null, invalid.slice(0, 50).map((one) => h('li', null, one)))),
    h('div', { class: 'actions' }, button('Close', close)),
  ]);
}

/**
 * @param {List} list
 * @param {string} path
 * @param {() => void} changed
 */
function rename(list, path, changed) {
  const fields = listFields(list);
  const [name, description] = fields;
  editor({
    title: 'Rename the list', fields, submit: 'Save',
    save: async () => {
      await patch(path, {
        name: name.value().trim(), description: description.value().trim() || null,
      });
      toast('Saved.');
      changed();
    },
  });
}

/** @param {List} list @param {string} path */
function erase(list, path) {
  confirm({
    title: `Delete the list “${list.name}”?`,
    text: 'Its contacts stay in the address book.',
    action: 'Delete the list',
    danger: true,
    run: async () => {
      await remove(path);
      toast('The list was deleted.');
      navigate('/console/lists');
    },
  });
}
