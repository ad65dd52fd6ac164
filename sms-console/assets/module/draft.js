// What somebody has typed into a form, kept in this tab until it is sent: `<form data-draft="name">`.
//
// The form's idempotency key is kept with it. So what is sent again after a reload, or after an
// answer was lost, is known to the server and happens once.

import { isTypedInto } from './typed.js';

/** @typedef {[string, string][]} Fields */

/** @param {string} name */
const place = (name) => `draft ${name}`;

for (const done of document.querySelectorAll('[data-draft-done]')) {
  if (done instanceof HTMLElement) sessionStorage.removeItem(place(done.dataset.draftDone ?? ''));
}
for (const form of document.querySelectorAll('form[data-draft]')) {
  if (form instanceof HTMLFormElement) watch(form);
}

/** @param {HTMLFormElement} form */
function watch(form) {
  const name = form.dataset.draft ?? '';
  const keep = () => write(name, fieldsOf(form));
  if ('draftGiven' in form.dataset || isTypedInto(form)) keep();
  else restore(form, read(name));
  for (const event of ['input', 'change', 'previewed']) form.addEventListener(event, keep);
}

/** @param {HTMLFormElement} form @returns {Fields} */
function fieldsOf(form) {
  /** @type {Fields} */
  const fields = [];
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && name !== 'csrf') fields.push([name, value]);
  }
  return fields;
}

/** @param {string} name @returns {Fields | null} */
function read(name) {
  try {
    return JSON.parse(sessionStorage.getItem(place(name)) ?? 'null');
  } catch {
    return null;
  }
}

/** @param {string} name @param {Fields} fields */
function write(name, fields) {
  try {
    sessionStorage.setItem(place(name), JSON.stringify(fields));
  } catch {
    // A full store loses the draft of a reload, and nothing else.
  }
}

/** @param {HTMLFormElement} form @param {Fields | null} fields */
function restore(form, fields) {
  if (!fields) return;
  const kept = new Map(fields);
  for (const control of form.elements) {
    if (control instanceof HTMLInputElement && control.type === 'checkbox') {
      control.checked = kept.has(control.name);
    } else if (isFilled(control) && kept.has(control.name)) {
      control.value = kept.get(control.name) ?? '';
    }
  }
  // What was chosen and not typed is shown again by the preview.
  const more = form.querySelector('[data-draft-more]');
  const missing = fields.filter(([name]) => !form.elements.namedItem(name));
  more?.append(...missing.map(([name, value]) => hidden(name, value)));
  form.dispatchEvent(new Event('input', { bubbles: true }));
}

/**
 * @param {Element} control
 * @returns {control is HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement}
 */
function isFilled(control) {
  return control.matches('input:not([name="csrf"]), textarea, select');
}

/** @param {string} name @param {string} value */
function hidden(name, value) {
  const input = document.createElement('input');
  input.type = 'hidden';
  input.name = name;
  input.value = value;
  return input;
}
