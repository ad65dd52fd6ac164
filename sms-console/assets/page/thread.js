// One conversation: its messages, its reply, and the contact beside it.

import { get, post } from '../api.js';
import { draftDrop, draftRead, draftWrite, once, unanswered } from '../draft.js';
import { h, replace, replaceKeepingFocus } from '../dom.js';
import { credits, fullName, phone, worded } from '../format.js';
import { badge } from '../part/badge.js';
import { bubbles } from '../part/bubble.js';
import { busy, button, isBusy, linkButton } from '../part/button.js';
import { errorNotice, notice, toast } from '../part/notice.js';
import { failed, loading } from '../part/state.js';
import { textBox } from '../part/textbox.js';
import { unansweredNotice } from '../part/unanswered.js';
import { testMode } from '../session.js';

/** @typedef {import('../api.js').Schemas['Thread']} Thread */

/**
 * @param {string} number
 * @param {AbortSignal} signal
 * @param {boolean} focus whether the conversation was chosen by hand
 * @param {() => void} changed
 */
export function thread(number, signal, focus, changed) {
  const title = h('h2', { tabindex: '-1' }, phone(number));
  const note = h('div', { class: 'thread-note' });
  // The log is made anew when a state changes: it would be read out from its beginning. What has
  // come in is said beside it.
  const log = h('div', {
    class: 'thread-log', role: 'log', 'aria-live': 'off', tabindex: '0', 'aria-label': 'Messages',
  }, loading());
  const said = h('p', { class: 'unseen', role: 'status' });
  const foot = h('div', { class: 'thread-foot' });
  const contact = h('aside', { class: 'thread-contact', 'aria-label': 'Contact' });
  const element = h('div', { class: 'thread' },
    h('div', { class: 'thread-main' },
      h('div', { class: 'thread-head' },
        h('a', { class: 'thread-back', href: `/console/inbox${location.search}` }, 'All conversations'),
        h('div', null, title, note)),
      log, said, foot),
    contact);
  let known = '';
  let asked = 0;
  let answered = 0;
  /** @type {Thread['messages'] | null} */
  let before = null;
  /** @type {boolean | null} */
  let optedOut = null;
  // Whoever reads the last message goes on seeing it when the reply below grows.
  let atEnd = true;
  log.addEventListener('scroll', () => {
    atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  });
  const grown = new ResizeObserver(() => {
    if (atEnd) log.scrollTop = log.scrollHeight;
  });
  grown.observe(log);
  signal.addEventListener('abort', () => grown.disconnect());

  /** @param {Thread} value */
  const show = (value) => {
    const name = value.contact ? fullName(value.contact) : '';
    replace(title, name || phone(number));
    replace(note, name ? h('span', { class: 'faint' }, phone(number)) : null,
      value.opted_out ? badge('Opted out', 'bad') : null);
    const wasAtEnd = atEnd;
    replaceKeepingFocus(log, bubbles(value.messages));
    replaceKeepingFocus(contact, contactCard(number, value));
    const seen = new Set(before?.map((one) => one.id));
    const come = before && value.messages.filter((one) => (
      one.direction === 'inbound' && !seen.has(one.id)));
    if (come && come.length > 0) replace(said, `They wrote: ${come[come.length - 1].body}`);
    before = value.messages;
    if (optedOut !== value.opted_out) {
      optedOut = value.opted_out;
      replace(foot, value.opted_out
        ? notice('bad', h('p', null, 'This person has opted out and cannot be texted. Remove the '
          + 'opt-out only if they have asked to hear from you again. '),
        h('p', null, h('a', { href: `/console/opt-outs?q=${encodeURIComponent(number)}` },
          'Show the opt-out')))
        : reply(number, signal, changed));
    }
    if (wasAtEnd) log.scrollTop = log.scrollHeight;
  };
  const refresh = async () => {
    asked += 1;
    const mine = asked;
    try {
      const answer = await get(`/v1/conversations/${encodeURIComponent(number)}`, {}, signal);
      // Reads may overlap: this one is old if a later one was answered before it.
      if (signal.aborted || mine < answered) return;
      answered = mine;
      const text = JSON.stringify(answer.data);
      if (text !== known) show(answer.data);
      known = text;
      await markRead(number, answer.data, changed);
    } catch (error) {
      if (signal.aborted || known !== '') return;
      replace(log, failed(error, refresh));
    }
  };
  refresh().then(() => focus && title.focus({ preventScroll: true }));
  return { element, refresh };
}

/**
 * What is on screen has been read.
 * @param {string} number
 * @param {Thread} value
 * @param {() => void} changed
 */
async function markRead(number, value, changed) {
  const unread = value.messages.some((one) => one.direction === 'inbound' && !one.read_at);
  if (!unread || document.visibilityState !== 'visible') return;
  const answer = await post(`/v1/conversations/${encodeURIComponent(number)}/read`);
  if (answer.data.marked_read > 0) changed();
}

/**
 * @param {string} number
 * @param {AbortSignal} signal
 * @param {() => void} sent
 */
function reply(number, signal, sent) {
  const name = `reply ${number}`;
  const problems = h('div');
  /** @type {import('../api.js').Schemas['Quote'] | null} */
  let price = null;
  const box = textBox({
    signal, label: 'Reply', value: draftRead(name) ?? '', rows: 3,
    request: () => (box.field.value().trim() ? { to: [number], body: box.field.value() } : null),
    onchange: () => draftWrite(name, box.field.value()),
    onquote: (quote) => {
      price = quote;
      label();
    },
    onenter: () => element.requestSubmit(),
  });
  const send = button('Send', null, { kind: 'main', type: 'submit' });
  const label = () => replace(send, price && price.recipients > 0 && !testMode()
    ? `Send for ${credits(price.credits)}` : 'Send');
  /** @param {string | undefined} body what was sent: what was written since then stays */
  const done = (body) => {
    if (box.field.value() === body) {
      draftDrop(name);
      box.field.set('');
      box.refresh();
    }
    showUnanswered();
    toast('Sent.');
    sent();
  };
  const showUnanswered = () => {
    const waiting = unanswered(name);
    replace(problems, unansweredNotice(name, () => done(waiting?.body.body), showUnanswered));
    send.disabled = waiting !== null;
  };
  const element = h('form', { class: 'reply', 'aria-label': 'Reply' }, problems, box.element,
    h('div', { class: 'actions' }, send,
      h('span', { class: 'small faint' }, 'Ctrl and Enter sends.')));
  element.addEventListener('submit', async (event) => {
    event.preventDefault();
    const body = box.field.value();
    if (isBusy(send) || send.disabled) return;
    if (!body.trim()) {
      box.field.complain('Write something first.');
      box.field.control.focus();
      return;
    }
    busy(send, true);
    try {
      const answer = await once(name, '/v1/messages', { to: [number], body });
      if (answer.data.messages.length === 0) {
        replace(problems, notice('bad', 'This number cannot be texted. Nothing was sent.'));
      } else {
        done(body);
        box.field.control.focus();
      }
    } catch (error) {
      showUnanswered();
      if (!unanswered(name)) {
        const shown = errorNotice(error);
        replace(problems, shown);
        shown.focus();
      }
    } finally {
      busy(send, false);
    }
  });
  showUnanswered();
  return element;
}

/**
 * @param {string} number
 * @param {Thread} value
 */
function contactCard(number, { contact, opted_out: optedOut }) {
  if (!contact) {
    return [h('h3', null, 'Not a contact yet'),
      h('p', { class: 'faint' }, phone(number)),
      linkButton('Add to contacts', `/console/contacts?add=${encodeURIComponent(number)}`,
        { small: true })];
  }
  const custom = Object.entries(contact.custom ?? {});
  return [
    h('h3', null, fullName(contact) || phone(number)),
    h('dl', { class: 'facts' },
      h('dt', null, 'Number'), h('dd', null, phone(number)),
      contact.email ? [h('dt', null, 'Email'), h('dd', null, contact.email)] : null,
      optedOut ? [h('dt', null, 'Texts'), h('dd', null, badge('Opted out', 'bad'))] : null,
      custom.map(([field, text]) => [h('dt', null, worded(field)), h('dd', null, String(text))])),
    contact.notes ? h('p', { class: 'wrap' }, contact.notes) : null,
    linkButton('Open the contact', `/console/contacts/${contact.id}`, { small: true }),
  ];
}
