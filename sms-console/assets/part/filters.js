// Filters above a list. They are kept in the address.

import { debounced, h } from '../dom.js';
import { setFilters } from '../router.js';

/** @typedef {import('./field.js').Field} Field */

/**
 * @param {string} label
 * @param {Field[]} fields
 * @param {() => void} onchange
 * @param {import('../dom.js').Child} [beside]
 */
export function filters(label, fields, onchange, beside) {
  const apply = () => {
    setFilters(Object.fromEntries(fields.map((field) => [field.name, field.value().trim()])));
    onchange();
  };
  const soon = debounced(300, apply);
  const element = h('form', { class: 'filters', role: 'search', 'aria-label': label },
    fields.map((field) => field.element), beside);
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    apply();
  });
  for (const { control } of fields) {
    const typed = control instanceof HTMLInputElement && ['search', 'text'].includes(control.type);
    control.addEventListener(typed ? 'input' : 'change', typed ? soon : apply);
  }
  return element;
}
