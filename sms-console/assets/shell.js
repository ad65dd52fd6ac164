// The frame round every page: navigation, who is signed in, live or test, and the word "offline".

import { append, h, replace } from './dom.js';
import { badge } from './part/badge.js';
import { button } from './part/button.js';
import { field } from './part/field.js';
import { icon } from './part/icon.js';
import { ACCOUNT_NAV, OPERATOR_NAV } from './places.js';
import { session } from './session.js';
import { theme, themeChoose } from './theme.js';

/**
 * @typedef {object} Shell
 * @property {HTMLElement} element
 * @property {HTMLElement} main
 * @property {(pathname: string) => void} mark shows which page is open
 * @property {(reached: boolean) => void} reach
 * @property {(count: number) => void} unread
 * @property {() => void} close closes the menu of a narrow screen
 */

/** @param {() => void} leave signs out @returns {Shell} */
export function shell(leave) {
  const { kind, mode, account } = session();
  const links = navLinks(kind === 'operator' ? OPERATOR_NAV : ACCOUNT_NAV);
  const unreadBox = h('span', { class: 'nav-count' });
  links.items.find((link) => link.getAttribute('href') === '/console/inbox')?.append(unreadBox);
  const name = kind === 'operator' ? 'Console' : account?.name ?? 'Account';
  const menu = button([icon('menu'), 'Menu'], () => toggle(), { small: true });
  menu.classList.add('side-menu');
  menu.setAttribute('aria-controls', 'side-body');
  const side = h('header', { class: 'side' },
    h('div', { class: 'side-head' },
      h('img', { src: iconAddress(), alt: '', width: 28, height: 28 }),
      h('span', { class: 'side-name' }, name),
      kind === 'operator' ? badge('Operator', 'accent')
        : mode === 'test' ? badge('Test', 'warn') : badge('Live', 'good'),
      menu),
    h('div', { class: 'side-body', id: 'side-body' },
      links.element,
      h('div', { class: 'side-foot' }, themeField(),
        button('Sign out', leave, { small: true }))));
  /** @param {boolean} [open] */
  const toggle = (open) => {
    const now = side.classList.toggle('side-open', open);
    menu.setAttribute('aria-expanded', String(now));
  };
  toggle(false);
  const offline = h('div', { class: 'offline', role: 'alert' });
  const main = h('main', { id: 'main', tabindex: '-1' });
  const element = h('div', { class: 'frame' },
    h('a', { class: 'skip', href: '#main' }, 'Skip to the page'),
    side,
    h('div', { class: 'main' },
      mode === 'test' ? h('div', { class: 'mode-strip', role: 'note' },
        'Test mode: nothing is really sent, and nothing is charged.') : null,
      offline, main));
  return {
    element, main,
    mark: (pathname) => markLinks(links.items, pathname),
    reach: (reached) => {
      if (reached === !offline.hasChildNodes()) return;
      replace(offline, reached ? null : h('div', { class: 'offline-strip' },
        'Offline: the server does not answer. This page goes on by itself when it does.'));
    },
    unread: (count) => replace(unreadBox, count > 0
      && badge(count > 99 ? '99+' : String(count), 'accent'),
    count > 0 && h('span', { class: 'unseen' }, ' unread')),
    close: () => toggle(false),
  };
}

/** The icon beside this module, in its folder of this version. */
function iconAddress() {
  return new URL('icon.svg', import.meta.url).pathname;
}

/** @param {import('./places.js').Group[]} groups */
function navLinks(groups) {
  /** @type {HTMLAnchorElement[]} */
  const items = [];
  const element = h('nav', { 'aria-label': 'Pages' });
  for (const group of groups) {
    const list = h('ul', { class: 'nav-group', 'aria-label': group.title || null });
    for (const item of group.items) {
      const link = h('a', { class: 'nav-link', href: item.href }, icon(item.icon), item.text);
      items.push(link);
      append(list, h('li', null, link));
    }
    append(element, [group.title && h('div', { class: 'nav-title' }, group.title), list]);
  }
  return { element, items };
}

/**
 * @param {HTMLAnchorElement[]} items
 * @param {string} pathname
 */
function markLinks(items, pathname) {
  for (const link of items) {
    const href = link.getAttribute('href') ?? '';
    const current = pathname === href || (href !== '/console' && pathname.startsWith(`${href}/`));
    if (current) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

export function themeField() {
  const chosen = field({
    name: 'theme', label: 'Colours', type: 'select', value: theme(),
    options: [
      { value: 'system', label: 'As the system' },
      { value: 'light', label: 'Light' },
      { value: 'dark', label: 'Dark' },
    ],
  });
  chosen.control.addEventListener('change', () => {
    themeChoose(/** @type {import('./theme.js').Theme} */ (chosen.value()));
  });
  return chosen.element;
}
