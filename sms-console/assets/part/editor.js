// A form in a dialog: making a thing, or changing it.

import { dialog } from './dialog.js';
import { button } from './button.js';
import { form } from './form.js';

/**
 * @typedef {object} Editor
 * @property {string} title
 * @property {import('./field.js').Field[]} fields
 * @property {import('../dom.js').Children} [content] when more than the fields is shown
 * @property {string} submit
 * @property {() => Promise<unknown>} save
 */

/** @param {Editor} editor */
export function editor({ title, fields, content, submit, save }) {
  dialog(title, (close) => form({
    label: title,
    fields,
    content: content ?? fields.map((one) => one.element),
    submit,
    before: button('Go back', close),
    onsubmit: async () => {
      await save();
      close();
    },
  }));
}
