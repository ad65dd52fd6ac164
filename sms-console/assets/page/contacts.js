// The address book: search, add, open.

import { get, newKey, post } from '../api.js';
import { h } from '../dom.js';
import { fullName, phone, time } from '../format.js';
import { badge } from '../part/badge.js';
import { linkButton, workButton } from '../part/button.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { filters } from '../part/filters.js';
import { head } from '../part/head.js';
import { toast, toastError } from '../part/notice.js';
import { empty } from '../part/state.js';
import { pagedTable } from '../part/table.js';
import { navigate, setFilters } from '../router.js';
import { contactFields } from './contact_form.js';

/** @typedef {import('../api.js').Contact} Contact */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ url, signal }) {
  const search = field({
    name: 'q', label: 'Name, number or email', type: 'search', class: 'field-grow',
    value: url.searchParams.get('q') ?? '',
  });
  const query = () => ({ q: search.value().trim() });
  const add = workButton('Add a contact', () => contactAdd('', signal), toastError,
    { kind: 'main' });
  const importing = linkButton('Import from CSV', '/console/contacts/import');
  const table = pagedTable({
    signal, caption: 'Contacts', path: '/v1/contacts', query, columns: contactColumns(),
    empty: () => (query().q ? empty('Nobody found', 'No contact matches.')
      : empty('No contacts yet', 'Add people one by one, or import them from a CSV file.',
        linkButton('Import from CSV', '/console/contacts/import', { kind: 'main' }))),
  });
  const wanted = url.searchParams.get('add');
  if (wanted !== null) {
    setFilters({ add: '' });
    contactAdd(wanted, signal).catch(toastError);
  }
  return {
    title: 'Contacts',
    content: [
      head('Contacts', { actions: [importing, add] }),
      filters('Search contacts', [search], table.refresh),
      table.element,
    ],
  };
}

/** @returns {import('../part/table.js').Column<Contact>[]} */
export function contactColumns() {
  return [
    {
      label: 'Name',
      cell: (one) => h('a', { class: 'row-link', href: `/console/contacts/${one.id}` },
        fullName(one) || phone(one.phone)),
    },
    { label: 'Number', cell: (one) => h('span', { class: 'number' }, phone(one.phone)) },
    { label: 'Email', cell: (one) => one.email ?? h('span', { class: 'faint' }, '–') },
    { label: 'Texts', cell: (one) => (one.opted_out ? badge('Opted out', 'bad') : 'Yes') },
    { label: 'Changed', right: true, cell: (one) => time(one.updated_at) },
  ];
}

/** @param {string} number @param {AbortSignal} signal */
async function contactAdd(number, signal) {
  const names = await get('/v1/contacts/fields');
  if (signal.aborted) return;
  const made = contactFields({ phone: number }, names.data);
  const key = newKey();
  editor({
    title: 'Add a contact', fields: made.fields, content: made.content, submit: 'Add the contact',
    save: async () => {
      const { data } = await post('/v1/contacts', made.value(), key);
      toast('The contact was added.');
      navigate(`/console/contacts/${data.id}`);
    },
  });
}
