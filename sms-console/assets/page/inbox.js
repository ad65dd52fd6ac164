// The inbox: conversations on the left, the open one in the middle, its contact beside it.

import { get } from '../api.js';
import { h, replace } from '../dom.js';
import { phone, time } from '../format.js';
import { live } from '../live.js';
import { badge } from '../part/badge.js';
import { button } from '../part/button.js';
import { field } from '../part/field.js';
import { filters } from '../part/filters.js';
import { toastError } from '../part/notice.js';
import { empty, failed, loading } from '../part/state.js';
import { unreadTell } from '../unread.js';
import { thread } from './thread.js';

/** @typedef {import('../api.js').Schemas['Conversation']} Conversation */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ url, params, signal }) {
  const inbox = new Inbox(url, signal);
  inbox.open(params.phone ?? null, false);
  live(signal, () => inbox.refresh());
  return { title: 'Inbox', wide: true, content: inbox.element };
}

class Inbox {
  /** @param {URL} url @param {AbortSignal} signal */
  constructor(url, signal) {
    this.signal = signal;
    /** @type {string | null} */
    this.number = null;
    /** @type {Conversation[]} */
    this.conversations = [];
    /** @type {string | null} */
    this.next = null;
    /** @type {ReturnType<typeof thread> | null} */
    this.thread = null;
    /** @type {AbortController | null} */
    this.leaving = null;
    this.shown = '';
    this.search = field({
      name: 'q', label: 'Search conversations', hideLabel: true, type: 'search',
      value: url.searchParams.get('q') ?? '',
      attributes: { placeholder: 'Name or number' },
    });
    this.unread = field({
      name: 'unread', label: 'Show', hideLabel: true, type: 'select',
      value: url.searchParams.get('unread') ?? '',
      options: [{ value: '', label: 'All' }, { value: 'true', label: 'Unread' }],
    });
    this.list = h('div', { class: 'inbox-list' }, loading());
    this.middle = h('section', { class: 'inbox-thread', 'aria-label': 'Conversation' });
    this.element = h('div', { class: 'inbox' },
      h('section', { class: 'inbox-side', 'aria-label': 'Conversations' },
        h('h1', { tabindex: '-1' }, 'Inbox'),
        filters('Filter conversations', [this.search, this.unread], () => this.refresh()),
        this.list),
      this.middle);
    this.refresh();
  }

  query() {
    return { q: this.search.value().trim(), unread: this.unread.value() };
  }

  async refresh() {
    this.thread?.refresh();
    const asked = JSON.stringify(this.query());
    try {
      const answer = await get('/v1/conversations', this.query(), this.signal);
      if (this.signal.aborted || asked !== JSON.stringify(this.query())) return;
      unreadTell(answer.meta.unread_total);
      // Whoever has gone further keeps what is on screen: only the top can have changed.
      const top = new Set(answer.data.map((/** @type {Conversation} */ one) => one.contact_number));
      const rest = this.next === null || this.shown !== asked
        ? [] : this.conversations.slice(25).filter((one) => !top.has(one.contact_number));
      this.conversations = [...answer.data, ...rest];
      if (rest.length === 0) this.next = answer.meta.next_cursor;
      this.shown = asked;
      this.showList();
    } catch (error) {
      if (this.signal.aborted || this.conversations.length > 0) return;
      replace(this.list, failed(error, () => this.refresh()));
    }
  }

  showList() {
    const focused = document.activeElement?.getAttribute('data-number');
    if (this.conversations.length === 0) {
      replace(this.list, this.query().q || this.query().unread
        ? empty('Nothing found', 'No conversation matches.')
        : empty('No conversations yet', 'When somebody texts you, or answers, it appears here.'));
      return;
    }
    replace(this.list,
      h('ul', { class: 'conversations' }, this.conversations.map((one) => this.row(one))),
      this.next ? h('div', { class: 'pager' }, button('Show more', () => this.more())) : null);
    if (focused) {
      const again = this.list.querySelector(`[data-number="${CSS.escape(focused)}"]`);
      if (again instanceof HTMLElement) again.focus({ preventScroll: true });
    }
  }

  async more() {
    try {
      const answer = await get('/v1/conversations', { ...this.query(), cursor: this.next });
      this.conversations.push(...answer.data);
      this.next = answer.meta.next_cursor;
      this.showList();
    } catch (error) {
      toastError(error);
    }
  }

  /** @param {Conversation} one */
  row(one) {
    const number = one.contact_number;
    const last = one.last_message;
    return h('li', null, h('a', {
      class: `conversation${one.unread > 0 ? ' conversation-unread' : ''}`,
      href: `/console/inbox/${encodeURIComponent(number)}`,
      'aria-current': number === this.number ? 'true' : null,
      'data-number': number,
      onclick: (/** @type {MouseEvent} */ event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        this.open(number, true);
      },
    },
    h('span', { class: 'conversation-head' },
      h('span', { class: 'conversation-name' }, one.contact_name || phone(number)),
      h('span', { class: 'small faint' }, time(last.created_at))),
    h('span', { class: 'conversation-foot' },
      h('span', { class: 'conversation-text' },
        last.direction === 'outbound' ? h('span', { class: 'faint' }, 'You: ') : null, last.body),
      one.unread > 0 ? badge(String(one.unread), 'accent') : null,
      one.unread > 0 ? h('span', { class: 'unseen' }, ' unread') : null)));
  }

  /**
   * @param {string | null} number
   * @param {boolean} byHand
   */
  open(number, byHand) {
    this.leaving?.abort();
    const leaving = new AbortController();
    this.leaving = leaving;
    this.signal.addEventListener('abort', () => leaving.abort());
    this.number = number;
    this.element.classList.toggle('inbox-open', number !== null);
    if (byHand && number) {
      const search = location.search;
      history.pushState(null, '', `/console/inbox/${encodeURIComponent(number)}${search}`);
    }
    if (this.conversations.length > 0) this.showList();
    if (number === null) {
      this.thread = null;
      replace(this.middle, empty('No conversation open', 'Choose one on the left.'));
      return;
    }
    this.thread = thread(number, leaving.signal, byHand, () => this.refresh());
    replace(this.middle, this.thread.element);
  }
}
