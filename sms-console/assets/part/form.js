// A form: its fields, one main button, and what the server says is wrong beside the field it is
// about.

import { Refused } from '../api.js';
import { h, replace } from '../dom.js';
import { busy, button, isBusy } from './button.js';
import { errorNotice } from './notice.js';

/** @typedef {import('./field.js').Field} Field */

/**
 * @typedef {object} FormOptions
 * @property {import('../dom.js').Children} content fields' elements and whatever is between them
 * @property {Field[]} fields
 * @property {string} submit the main button's words
 * @property {boolean} [danger]
 * @property {() => Promise<unknown>} onsubmit
 * @property {import('../dom.js').Child} [before] buttons before the main one
 * @property {import('../dom.js').Child} [beside] buttons after it
 * @property {string} [label]
 */

/** @param {FormOptions} options */
export function form({ content, fields, submit, danger, onsubmit, before, beside, label }) {
  const problems = h('div', { class: 'form-problems' });
  const main = button(submit, null, { kind: danger ? 'danger' : 'main', type: 'submit' });
  const element = h('form', { class: 'form', novalidate: true, 'aria-label': label },
    problems, content, h('div', { class: 'actions' }, before, main, beside));
  element.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (isBusy(main)) return;
    replace(problems);
    if (!complete(fields)) return;
    busy(main, true);
    try {
      await onsubmit();
    } catch (error) {
      explain(error, fields, problems);
    } finally {
      busy(main, false);
    }
  });
  return element;
}

/** Names the fields that must be filled in. @param {Field[]} fields */
export function complete(fields) {
  let first = true;
  for (const field of fields) {
    const { control } = field;
    if (control.disabled || control.validity.valid) continue;
    field.complain(control.validity.valueMissing
      ? 'This is needed.'
      : control.validationMessage);
    if (first) control.focus();
    first = false;
  }
  return first;
}

/**
 * Puts an error where it belongs: beside its field, else above the form.
 * @param {unknown} error
 * @param {Field[]} fields
 * @param {Element} problems
 */
export function explain(error, fields, problems) {
  const elsewhere = [];
  let focused = false;
  for (const problem of error instanceof Refused ? error.fields : []) {
    const field = fields.find((one) => owns(one.name, problem.field));
    if (!field) {
      elsewhere.push(problem);
      continue;
    }
    field.complain(sentence(problem.message));
    if (!focused) field.control.focus();
    focused = true;
  }
  if (focused && elsewhere.length === 0) return;
  const notice = errorNotice(error, elsewhere);
  replace(problems, notice);
  notice.focus();
}

/** @param {string} name @param {string} field */
const owns = (name, field) => field === name || field.startsWith(`${name}[`)
  || field.startsWith(`${name}.`);

/** @param {string} message */
function sentence(message) {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
