// The inbox: conversations on the left, the open one in the middle, its contact beside it.

import { get } from '../api.js';
import { h, replace, replaceKeepingFocus } from '../dom.js';
import { phone, time } from '../format.js';
import { live } from '../live.js';
import { badge } from '../part/badge.js';
import { workButton } from '../part/button.js';
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
    this.asked = 0;
    this.answered = 0;
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
    const wanted = this.wanted();
    this.asked += 1;
    const mine = this.asked;
    const late = () => this.signal.aborted || mine < this.answered || wanted !== this.wanted();
    try {
      const answer = await get('/v1/conversations', this.query(), this.signal);
      if (late()) return;
      this.answered = mine;
      unreadTell(answer.meta.unread_total);
      const rest = this.shown === wanted ? this.below(answer) : [];
      this.conversations = [...answer.data, ...rest];
      if (rest.length === 0) this.next = answer.meta.next_cursor;
      this.shown = wanted;
      this.showList();
    } catch (error) {
      if (late() || this.shown === wanted) return;
      replace(this.list, failed(error, () => this.refresh()));
    }
  }

  /** Which conversations are asked for. */
  wanted() {
    return JSON.stringify(this.query());
  }

  /**
   * Those on screen that come below a first page: they stay there. What is newer than its last one
   * and not on it is no longer in the list.
   * @param {import('../api.js').Answer<Conversation[]>} first
   */
  below({ data, meta }) {
    if (!meta.next_cursor) return [];
    const end = Date.parse(data[data.length - 1].last_message.created_at);
    const above = new Set(data.map((one) => one.contact_number));
    return this.conversations.filter((one) => !above.has(one.contact_number)
      && Date.parse(one.last_message.created_at) <= end);
  }

  showList() {
    if (this.conversations.length === 0) {
      replace(this.list, this.query().q || this.query().unread
        ? empty('Nothing found', 'No conversation matches.')
        : empty('No conversations yet', 'When somebody texts you, or answers, it appears here.'));
      return;
    }
    replaceKeepingFocus(this.list,
      h('ul', { class: 'conversations' }, this.conversations.map((one) => this.row(one))),
      this.next ? h('div', { class: 'pager' },
        workButton('Show more', () => this.more(), toastError)) : null);
  }

  async more() {
    const cursor = this.next;
    const wanted = this.wanted();
    if (!cursor || wanted !== this.shown) return;
    const answer = await get('/v1/conversations', { ...this.query(), cursor }, this.signal)
      .catch((error) => {
        if (!this.signal.aborted) throw error;
      });
    // A refresh makes a new button: what two of them asked for is added once.
    if (!answer || cursor !== this.next || wanted !== this.shown) return;
    const there = new Set(this.conversations.map((one) => one.contact_number));
    this.conversations.push(...answer.data.filter((/** @type {Conversation} */ one) => (
      !there.has(one.contact_number))));
    this.next = answer.meta.next_cursor;
    this.showList();
  }

  /** @param {Conversation} one */
  row(one) {
    const number = one.contact_number;
    const last = one.last_message;
    return h('li', null, h('a', {
      class: `conversation${one.unread > 0 ? ' conversation-unread' : ''}`,
      href: `/console/inbox/${encodeURIComponent(number)}`,
      'aria-current': number === this.number ? 'true' : null,
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
    this.signal.addEventListener('abort', () => leaving.abort(), { signal: leaving.signal });
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
