// The head of a page: its title, what it is for, and what can be done.

import { h } from '../dom.js';

/**
 * @param {string} title
 * @param {{lead?: import('../dom.js').Child, actions?: import('../dom.js').Child,
 *   back?: [string, string], beside?: import('../dom.js').Child}} [options]
 */
export function head(title, { lead, actions, back, beside } = {}) {
  return h('div', { class: 'page-head' },
    h('div', null,
      back ? h('p', { class: 'crumb' }, h('a', { href: back[1] }, back[0])) : null,
      h('div', { class: 'actions' }, h('h1', { tabindex: '-1' }, title), beside),
      lead ? h('p', { class: 'lead' }, lead) : null),
    actions ? h('div', { class: 'actions' }, actions) : null);
}

/**
 * @param {string} label
 * @param {{text: string, href: string, current: boolean}[]} items
 */
export function tabs(label, items) {
  return h('nav', { class: 'tabs', 'aria-label': label }, items.map((item) => h('a', {
    class: 'tab', href: item.href, 'aria-current': item.current ? 'page' : null,
  }, item.text)));
}
