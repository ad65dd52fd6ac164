// The form of a contact, with its custom fields.

import { h } from '../dom.js';
import { phone } from '../format.js';
import { button } from '../part/button.js';
import { field } from '../part/field.js';

/** @typedef {import('../api.js').Contact} Contact */

/** @param {Partial<Contact>} contact @param {string[]} names of the account's custom fields */
export function contactFields(contact, names) {
  const fields = {
    phone: field({
      name: 'phone', label: 'Mobile number', type: 'tel', required: true,
      value: contact.phone ? phone(contact.phone) : '',
    }),
    first_name: field({
      name: 'first_name', label: 'First name', value: contact.first_name ?? '', optional: true,
    }),
    last_name: field({
      name: 'last_name', label: 'Last name', value: contact.last_name ?? '', optional: true,
    }),
    email: field({
      name: 'email', label: 'Email', type: 'email', value: contact.email ?? '', optional: true,
    }),
    notes: field({
      name: 'notes', label: 'Notes', type: 'textarea', value: contact.notes ?? '', optional: true,
      attributes: { rows: 2, class: 'input input-short' },
    }),
  };
  const custom = customFields(contact.custom ?? {}, names);
  return {
    fields: Object.values(fields),
    content: [
      fields.phone.element,
      h('div', { class: 'form-row' }, fields.first_name.element, fields.last_name.element),
      fields.email.element, custom.element, fields.notes.element,
    ],
    value: () => ({
      phone: fields.phone.value().trim(),
      first_name: fields.first_name.value().trim() || null,
      last_name: fields.last_name.value().trim() || null,
      email: fields.email.value().trim() || null,
      notes: fields.notes.value().trim() || null,
      custom: custom.value(),
    }),
  };
}

/**
 * @param {Record<string, unknown>} values
 * @param {string[]} names
 */
function customFields(values, names) {
  const rows = h('div', { class: 'stack-tight' });
  /** @type {{name: () => string, value: () => string}[]} */
  const kept = [];
  /** @param {string} name @param {string} text */
  const known = (name, text) => {
    const box = field({ name: `custom.${name}`, label: name, value: text });
    rows.append(box.element);
    kept.push({ name: () => name, value: box.value });
  };
  const all = new Set([...names, ...Object.keys(values)]);
  for (const name of all) known(name, String(values[name] ?? ''));
  const added = h('div', { class: 'stack-tight' });
  const more = button('Add a custom field', () => {
    const name = field({
      name: 'custom_name', label: 'Field name',
      hint: 'Small letters, digits and _: it becomes a merge field.',
    });
    const value = field({ name: 'custom_value', label: 'Value' });
    added.append(h('div', { class: 'form-row' }, name.element, value.element));
    kept.push({ name: () => name.value().trim(), value: value.value });
    name.control.focus();
  }, { small: true, kind: 'quiet' });
  const element = h('fieldset', { class: 'stack-tight' },
    h('legend', { class: 'legend' }, 'Custom fields'), rows, added, h('div', null, more));
  return {
    element,
    value: () => {
      /** @type {Record<string, string | null>} */
      const custom = {};
      for (const one of kept) {
        const text = one.value().trim();
        // What was there and is emptied now is taken away.
        if (one.name() && (text || one.name() in values)) custom[one.name()] = text || null;
      }
      return custom;
    },
  };
}

