// A field of a form: its label, its control, a hint, and what is wrong with it.

import { h, replace, uniqueId } from '../dom.js';

/** @typedef {{value: string, label: string, disabled?: boolean}} Option */
/** @typedef {'text' | 'search' | 'tel' | 'email' | 'url' | 'password' | 'number'
 *    | 'datetime-local' | 'date' | 'time' | 'file' | 'textarea' | 'select' | 'check'} FieldType */

/**
 * @typedef {object} FieldOptions
 * @property {string} name
 * @property {string} label
 * @property {FieldType} [type]
 * @property {string | boolean} [value]
 * @property {string} [hint]
 * @property {boolean} [required]
 * @property {boolean} [optional] says so beside the label
 * @property {boolean} [hideLabel]
 * @property {boolean} [disabled]
 * @property {Option[]} [options]
 * @property {string} [problem]
 * @property {number} [maxlength]
 * @property {string} [class]
 * @property {Record<string, unknown>} [attributes] of the control itself
 */

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {HTMLElement} element
 * @property {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} control
 * @property {() => string} value
 * @property {() => boolean} checked
 * @property {(value: string | boolean) => void} set
 * @property {(message: string | null) => void} complain
 */

/** @param {FieldOptions} options @returns {Field} */
export function field(options) {
  const { name, label, type = 'text', hint, problem } = options;
  const id = uniqueId(name);
  const control = controlOf(id, options);
  const hintElement = hint ? h('p', { class: 'hint', id: `${id}-hint` }, hint) : null;
  const problemElement = h('p', { class: 'problem', id: `${id}-problem`, hidden: true });
  const described = hintElement ? hintElement.id : '';
  const labelled = h('label', { for: id, class: options.hideLabel ? 'unseen' : null }, label,
    options.optional ? h('span', { class: 'faint' }, ' (optional)') : null);
  const element = type === 'check'
    ? h('div', { class: 'field' }, h('div', { class: 'check' }, control, labelled),
      hintElement, problemElement)
    : h('div', { class: `field ${options.class ?? ''}`.trim() },
      labelled, hintElement, control, problemElement);

  /** @param {string | null} message */
  const complain = (message) => {
    replace(problemElement, message);
    problemElement.hidden = !message;
    if (message) control.setAttribute('aria-invalid', 'true');
    else control.removeAttribute('aria-invalid');
    const by = [described, message ? problemElement.id : ''].filter(Boolean).join(' ');
    if (by) control.setAttribute('aria-describedby', by);
    else control.removeAttribute('aria-describedby');
  };
  complain(problem ?? null);
  control.addEventListener('input', () => complain(null));
  return {
    name, element, control, complain,
    value: () => control.value,
    checked: () => control instanceof HTMLInputElement && control.checked,
    set: (value) => {
      if (typeof value === 'boolean') Reflect.set(control, 'checked', value);
      else control.value = value;
    },
  };
}

/** @param {string} id @param {FieldOptions} options */
function controlOf(id, options) {
  const { name, type = 'text', value, required, disabled, maxlength } = options;
  const props = {
    id, name, required, disabled, maxlength, class: 'input', autocomplete: 'off',
    ...options.attributes,
  };
  if (type === 'textarea') return h('textarea', { ...props, value: value ?? '' });
  if (type === 'select') {
    const options_ = (options.options ?? []).map((one) => h('option', {
      value: one.value, disabled: one.disabled,
    }, one.label));
    return h('select', { ...props, value }, options_);
  }
  if (type === 'check') {
    return h('input', { ...props, class: null, type: 'checkbox', checked: value === true });
  }
  return h('input', { ...props, type, value: type === 'file' ? undefined : value ?? '' });
}
