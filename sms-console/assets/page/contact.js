// One contact: who they are, the lists they are on, what was said.

import { everything, get, patch, post, remove } from '../api.js';
import { h } from '../dom.js';
import { fullName, phone, time, worded } from '../format.js';
import { badge } from '../part/badge.js';
import { button, linkButton, workButton } from '../part/button.js';
import { confirm } from '../part/dialog.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { head } from '../part/head.js';
import { toast, toastError } from '../part/notice.js';
import { loaded } from '../part/state.js';
import { navigate } from '../router.js';
import { contactFields } from './contact_form.js';

/** @typedef {import('../api.js').Schemas['ContactWithLists']} Contact */
/** @typedef {import('../api.js').Schemas['ContactList']} List */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ params, signal }) {
  const path = `/v1/contacts/${encodeURIComponent(params.id)}`;
  const body = loaded(signal, async () => {
    const [contact, names, lists] = await Promise.all([
      get(path, {}, signal), get('/v1/contacts/fields'), everything('/v1/lists'),
    ]);
    return { contact: contact.data, names: names.data, lists };
  }, (read) => card(read.contact, read.names, read.lists, () => body.refresh()));
  return { title: 'Contact', content: body.element };
}

/**
 * @param {Contact} contact
 * @param {string[]} names
 * @param {List[]} lists
 * @param {() => void} changed
 */
function card(contact, names, lists, changed) {
  const number = encodeURIComponent(contact.phone);
  const custom = Object.entries(contact.custom);
  const name = fullName(contact) || phone(contact.phone);
  return [
    head(name, {
      back: ['Contacts', '/console/contacts'],
      beside: contact.opted_out ? badge('Opted out', 'bad') : null,
      actions: [
        contact.opted_out ? null
          : linkButton('Write a message', `/console/compose?contact=${contact.id}`,
            { kind: 'main' }),
        button('Edit', () => edit(contact, names, changed)),
        button('Delete', () => erase(contact), { kind: 'danger' }),
      ],
    }),
    h('div', { class: 'columns' },
      h('section', { class: 'card' }, h('h2', null, 'Details'), h('dl', { class: 'facts' },
        h('dt', null, 'Number'), h('dd', { class: 'number' }, phone(contact.phone)),
        h('dt', null, 'Email'), h('dd', null, contact.email ?? '–'),
        custom.map(([name_, value]) => [
          h('dt', null, worded(name_)), h('dd', null, String(value)),
        ]),
        h('dt', null, 'Notes'), h('dd', { class: 'wrap' }, contact.notes ?? '–'),
        h('dt', null, 'Added'), h('dd', null, time(contact.created_at)))),
      h('div', { class: 'stack' },
        listsCard(contact, lists, changed),
        h('section', { class: 'card stack' }, h('h2', null, 'Messages'),
          h('div', { class: 'actions' },
            linkButton('Open the conversation', `/console/inbox/${number}`, { small: true }),
            linkButton('All messages', `/console/messages?q=${number}`, { small: true }))))),
  ];
}

/**
 * @param {Contact} contact
 * @param {List[]} lists
 * @param {() => void} changed
 */
function listsCard(contact, lists, changed) {
  const on = lists.filter((one) => contact.list_ids.includes(one.id));
  const off = lists.filter((one) => !contact.list_ids.includes(one.id));
  const choice = field({
    name: 'list', label: 'Add to a list', type: 'select',
    options: off.map((one) => ({ value: one.id, label: one.name })),
  });
  return h('section', { class: 'card stack' }, h('h2', null, 'Lists'),
    on.length === 0 ? h('p', { class: 'faint' }, 'On no list.')
      : h('ul', { class: 'stack-tight' }, on.map((one) => h('li', { class: 'actions' },
        h('a', { href: `/console/lists/${one.id}` }, one.name),
        workButton('Remove', async () => {
          await remove(`/v1/lists/${one.id}/contacts/${contact.id}`);
          changed();
        }, toastError, { kind: 'quiet', small: true, label: `Remove from ${one.name}` })))),
    off.length === 0 ? null : h('div', { class: 'actions' }, choice.element,
      workButton('Add', async () => {
        await post(`/v1/lists/${choice.value()}/contacts`, { contact_ids: [contact.id] });
        changed();
      }, toastError, { small: true, label: 'Add to the list' })));
}

/**
 * @param {Contact} contact
 * @param {string[]} names
 * @param {() => void} changed
 */
function edit(contact, names, changed) {
  const made = contactFields(contact, names);
  editor({
    title: 'Edit the contact', fields: made.fields, content: made.content, submit: 'Save',
    save: async () => {
      await patch(`/v1/contacts/${contact.id}`, made.value());
      toast('Saved.');
      changed();
    },
  });
}

/** @param {Contact} contact */
function erase(contact) {
  confirm({
    title: 'Delete this contact?',
    text: 'Messages stay. The person is taken off every list; an opt-out stays too.',
    action: 'Delete the contact',
    danger: true,
    run: async () => {
      await remove(`/v1/contacts/${contact.id}`);
      toast('The contact was deleted.');
      navigate('/console/contacts');
    },
  });
}
