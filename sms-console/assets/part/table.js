// Tables of things, read page by page. On a narrow screen each row becomes a small card.

import { get, passing } from '../api.js';
import { append, h, replace, replaceKeepingFocus } from '../dom.js';
import { busy, button, isBusy } from './button.js';
import { failed, loading } from './state.js';

/** @typedef {import('../dom.js').Child} Child */

/**
 * @template T
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: T) => Child} cell
 * @property {boolean} [right] numbers stand on the right
 * @property {boolean} [hideLabel] only a screen reader says it
 */

/**
 * @template T
 * @param {string} caption
 * @param {Column<T>[]} columns
 * @param {T[]} rows
 */
export function table(caption, columns, rows) {
  const body = h('tbody', { role: 'rowgroup' });
  const element = h('div', { class: 'table-box' },
    h('table', { class: 'table', role: 'table' },
      h('caption', { class: 'unseen' }, caption),
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, columns.map((column) => h('th', {
        scope: 'col', role: 'columnheader', class: column.right ? 'right' : null,
      }, column.hideLabel ? h('span', { class: 'unseen' }, column.label) : column.label)))),
      body));
  /** Adds rows, and returns the first of them. @param {T[]} more */
  const add = (more) => {
    const made = more.map((row) => rowOf(columns, row));
    append(body, made);
    return made.at(0);
  };
  add(rows);
  return { element, add };
}

/**
 * @template T
 * @param {Column<T>[]} columns
 * @param {T} row
 */
function rowOf(columns, row) {
  return h('tr', { role: 'row' }, columns.map((column, index) => h('td', {
    role: 'cell',
    class: column.right ? 'right' : null,
    'data-label': index === 0 || column.hideLabel ? null : column.label,
  }, column.cell(row))));
}

/**
 * @template T
 * @typedef {object} PagedOptions
 * @property {AbortSignal} signal
 * @property {string} caption
 * @property {string} path
 * @property {() => import('../api.js').Query} [query]
 * @property {Column<T>[]} columns
 * @property {() => Child} empty what is shown when there is nothing
 */

/**
 * A table of a cursor list. `refresh` reads the first page again.
 * @template T
 * @param {PagedOptions<T>} options
 */
export function pagedTable({ signal, caption, path, query, columns, empty }) {
  const element = h('div', { class: 'paged', 'aria-busy': 'true' }, loading());
  let asked = 0;
  let answered = 0;
  let pages = 0;
  let known = '';
  // The filters that what is on screen belongs to.
  let shownFor = '';
  const filters = () => JSON.stringify(query?.() ?? {});
  // Reads may overlap: an answer counts unless that to a later read came first, or the filters have
  // changed since.
  const refresh = async (firstPageOnly = false) => {
    asked += 1;
    const mine = asked;
    const wanted = filters();
    const late = () => signal.aborted || mine < answered || wanted !== filters()
      || (firstPageOnly && pages > 1);
    try {
      const answer = await get(path, query?.() ?? {}, signal);
      if (late()) return;
      answered = mine;
      const text = JSON.stringify(answer);
      if (pages !== 1 || text !== known || wanted !== shownFor) show(answer);
      known = text;
      shownFor = wanted;
      pages = 1;
    } catch (error) {
      if (late()) return;
      answered = mine;
      // What is on screen is worth more than an error, when only a refresh failed.
      if (pages > 0 && wanted === shownFor && passing(error)) return;
      pages = 0;
      replace(element, failed(error, () => {
        replace(element, loading());
        refresh();
      }));
    }
    element.removeAttribute('aria-busy');
  };

  /** @param {import('../api.js').Answer<T[]>} answer */
  const show = (answer) => {
    pages = 1;
    if (answer.data.length === 0) {
      replace(element, empty());
      return;
    }
    const made = table(caption, columns, answer.data);
    const pager = h('div', { class: 'pager' });
    replaceKeepingFocus(element, made.element, pager);
    showPager(pager, made, answer);
  };

  /**
   * @param {HTMLElement} pager
   * @param {{element: HTMLElement, add: (rows: T[]) => HTMLElement | undefined}} made
   * @param {import('../api.js').Answer<T[]>} answer
   */
  const showPager = (pager, made, answer) => {
    const next = nextQuery(answer);
    if (!next) {
      pager.remove();
      return;
    }
    const more = button('Show more', async () => {
      // The filters may just have changed: then their first page is on its way.
      if (isBusy(more) || filters() !== shownFor) return;
      busy(more, true);
      try {
        const page = await get(path, { ...query?.(), ...next }, signal);
        // A refresh may have put a new table in the place of this one.
        if (!pager.isConnected) return;
        const focused = pager.contains(document.activeElement);
        const first = made.add(page.data);
        pages += 1;
        showPager(pager, made, page);
        if (focused && first) {
          first.tabIndex = -1;
          first.focus({ preventScroll: true });
        }
      } catch (error) {
        if (!signal.aborted) replace(pager, failed(error, () => showPager(pager, made, answer)));
      }
    });
    replace(pager, more);
  };

  /** @param {import('../api.js').Answer<T[]>} answer */
  const nextQuery = ({ data, meta }) => {
    if (meta?.next_cursor) return { cursor: meta.next_cursor };
    // Opt-outs are counted and paged by offset.
    const seen = pages === 1 ? data.length : pages * 25;
    return meta?.total > seen ? { offset: seen } : null;
  };

  refresh();
  return {
    element,
    refresh: () => refresh(),
    /** Reads again unless somebody has gone further than the first page. */
    refreshFirst: () => (pages <= 1 ? refresh(true) : undefined),
  };
}
