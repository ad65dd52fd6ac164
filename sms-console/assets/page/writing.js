// What the pages that write messages share: templates, sender names, merge fields, the time.

import { everything, get } from '../api.js';
import { h, replace } from '../dom.js';
import { comingTime, fromLondon, toLondon } from '../format.js';
import { button } from '../part/button.js';
import { field } from '../part/field.js';

/**
 * @typedef {object} Choices
 * @property {any[]} lists
 * @property {import('../api.js').Schemas['Template'][]} templates
 * @property {import('../api.js').Schemas['SenderName'][]} senders
 * @property {string[]} mergeFields
 */

const BUILT_IN = ['first_name', 'last_name', 'full_name', 'phone', 'email'];

/** @returns {Promise<Choices>} */
export async function messageChoices() {
  const [lists, templates, senders, fields] = await Promise.all([
    everything('/v1/lists'), everything('/v1/templates'), get('/v1/sender-ids'),
    get('/v1/contacts/fields'),
  ]);
  return {
    lists, templates,
    senders: senders.data.filter((/** @type {any} */ one) => one.status === 'approved'),
    mergeFields: [...BUILT_IN, ...fields.data.filter((/** @type {string} */ one) => (
      !BUILT_IN.includes(one)))],
  };
}

/**
 * Buttons that put a merge field where the cursor is.
 * @param {string[]} names
 * @param {ReturnType<typeof import('../part/textbox.js').textBox>} box
 */
export function mergeButtons(names, box) {
  const control = /** @type {HTMLTextAreaElement} */ (box.field.control);
  return h('div', { class: 'merge', role: 'group', 'aria-label': 'Insert a merge field' },
    h('span', { class: 'small faint' }, 'Insert:'),
    names.slice(0, 20).map((name) => button(`{${name}}`, () => {
      control.setRangeText(`{${name}}`, control.selectionStart, control.selectionEnd, 'end');
      control.dispatchEvent(new Event('input', { bubbles: true }));
      control.focus();
    }, { kind: 'quiet', small: true })));
}

/**
 * Now, or a time in London.
 * @param {string} start
 * @param {() => void} changed
 */
export function whenField(start, changed) {
  const said = h('p', { class: 'small faint', role: 'status' });
  const when = field({
    name: 'schedule_at', label: 'Send at', type: 'datetime-local', value: start, optional: true,
    hint: 'London time. Leave it empty to send now.',
    attributes: { min: toLondon(new Date()) },
  });
  const show = () => {
    const moment = fromLondon(when.value());
    replace(said, moment ? `Goes at ${comingTime(moment)}, London time.` : 'Goes now.');
  };
  when.control.addEventListener('change', () => {
    show();
    changed();
  });
  show();
  return {
    field: when,
    element: h('div', { class: 'stack-tight' }, when.element, said),
    value: () => when.value(),
  };
}
