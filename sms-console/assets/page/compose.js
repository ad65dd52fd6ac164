// Writing a message: to whom, what, when; the price and who would not get it; and sending it once.

import { get, post } from '../api.js';
import { draftDrop, draftRead, draftWrite, once, unanswered } from '../draft.js';
import { h, replace } from '../dom.js';
import { comingTime, counted, credits, fromLondon, fullTime } from '../format.js';
import { busy, button, isBusy, linkButton } from '../part/button.js';
import { asRequest } from '../part/code.js';
import { confirm } from '../part/dialog.js';
import { field } from '../part/field.js';
import { explain } from '../part/form.js';
import { head } from '../part/head.js';
import { notice } from '../part/notice.js';
import { rejections } from '../part/rejection.js';
import { textBox } from '../part/textbox.js';
import { unansweredNotice } from '../part/unanswered.js';
import { reload } from '../router.js';
import { testMode } from '../session.js';
import { recipientsField } from './recipients.js';
import { messageChoices, mergeButtons, whenField } from './writing.js';

/** @typedef {import('../api.js').Schemas['Quote']} Quote */
/** @typedef {import('./recipients.js').Recipients} Recipients */

/**
 * @typedef {object} Draft
 * @property {Recipients} recipients
 * @property {string} body
 * @property {string} sender
 * @property {boolean} appendOptOut
 * @property {boolean} trackLinks
 * @property {string} when
 */

const NAME = 'compose';

/** @type {Draft} */
const NOTHING = {
  recipients: { numbers: '', contacts: [], list: '' },
  body: '', sender: '', appendOptOut: false, trackLinks: false, when: '',
};

/** @param {import('../router.js').View} view @returns {Promise<import('../router.js').Page>} */
export async function page({ url, signal }) {
  const choices = await messageChoices();
  const draft = await startingDraft(url, signal);
  return { title: 'Compose', content: composer(signal, choices, draft) };
}

/**
 * What was being written, or what the address asks for.
 * @param {URL} url
 * @param {AbortSignal} signal
 */
async function startingDraft(url, signal) {
  const wanted = url.searchParams;
  /** @type {Draft} */
  const draft = draftRead(NAME) ?? structuredClone(NOTHING);
  const to = wanted.get('to');
  if (to) draft.recipients = { ...NOTHING.recipients, numbers: to };
  const list = wanted.get('list');
  if (list) draft.recipients = { ...NOTHING.recipients, list };
  const contact = wanted.get('contact');
  if (contact) {
    const { data } = await get(`/v1/contacts/${encodeURIComponent(contact)}`);
    draft.recipients = { ...NOTHING.recipients, contacts: [data] };
  }
  const template = wanted.get('template');
  if (template) {
    const { data } = await get(`/v1/templates/${encodeURIComponent(template)}`);
    draft.body = data.body;
  }
  // Whoever has left meanwhile is at another address.
  if (!signal.aborted && wanted.size > 0) history.replaceState(null, '', '/console/compose');
  return draft;
}

/**
 * @param {AbortSignal} signal
 * @param {import('./writing.js').Choices} choices
 * @param {Draft} draft
 */
function composer(signal, choices, draft) {
  /** @type {Quote | null} */
  let price = null;
  const recipients = recipientsField(signal, choices.lists, draft.recipients, () => changed());
  const template = field({
    name: 'template_id', label: 'Start from a template', type: 'select',
    options: [{ value: '', label: choices.templates.length ? 'None' : 'There are no templates' },
      ...choices.templates.map((one) => ({ value: one.id, label: one.name }))],
  });
  const sender = field({
    name: 'sender', label: 'Send from', type: 'select', value: draft.sender,
    options: [{ value: '', label: 'A number that people can answer' },
      ...choices.senders.map((one) => ({ value: one.value, label: one.value }))],
    hint: 'People cannot answer a sender name.',
  });
  const optOut = field({
    name: 'append_opt_out', label: 'Add the line that says how to opt out', type: 'check',
    value: draft.appendOptOut, hint: 'Marketing needs it.',
  });
  const track = field({
    name: 'track_links', label: 'Shorten links and count who opens them', type: 'check',
    value: draft.trackLinks,
  });
  const when = whenField(draft.when, () => changed());

  const request = () => ({
    ...recipients.request(), body: box.field.value(),
    sender: sender.value() || undefined,
    append_opt_out: optOut.checked() || undefined,
    track_links: track.checked() || undefined,
    schedule_at: when.value() ? fromLondon(when.value()) : undefined,
  });
  const ready = () => !recipients.empty() && box.field.value().trim() !== '';
  const box = textBox({
    signal, label: 'Message', value: draft.body,
    request: () => (ready() ? request() : null),
    onquote: (quote) => {
      price = quote;
      showSide();
    },
    onchange: () => keep(),
  });
  const keep = () => draftWrite(NAME, {
    recipients: recipients.value(), body: box.field.value(), sender: sender.value(),
    appendOptOut: optOut.checked(), trackLinks: track.checked(), when: when.value(),
  });
  const changed = () => {
    keep();
    box.quote();
  };
  for (const one of [sender, optOut, track]) one.control.addEventListener('change', changed);
  template.control.addEventListener('change', () => {
    const chosen = choices.templates.find((one) => one.id === template.value());
    if (!chosen) return;
    box.field.set(chosen.body);
    box.refresh();
    keep();
  });

  const side = h('div', { class: 'stack' });
  const problems = h('div');
  const send = button('Send', null, { kind: 'main', type: 'submit' });
  const showSide = () => {
    replace(side, quoteCard(price, request(), box.field.value()), recipients.preview(request));
    replace(send, sendWords(price, when.value()));
  };
  const fields = [recipients.field, box.field, sender, when.field];
  const content = h('div');
  /** @param {any} answer */
  const done = (answer) => {
    draftDrop(NAME);
    replace(content, sentPage(answer));
    content.querySelector('h1')?.focus();
  };
  const showUnanswered = () => {
    replace(problems, unansweredNotice(NAME, done, showUnanswered));
    send.disabled = unanswered(NAME) !== null;
  };
  /** @param {Record<string, unknown>} wanted */
  const submit = async (wanted) => {
    try {
      done(await once(NAME, '/v1/messages', wanted));
    } catch (error) {
      showUnanswered();
      if (!unanswered(NAME)) explain(error, fields, problems);
    }
  };
  const element = h('form', {
    class: 'stack stack-loose', novalidate: true, 'aria-label': 'Message',
  },
    h('div', { class: 'section' }, h('h2', null, 'To'), recipients.element),
    h('div', { class: 'section' }, h('h2', null, 'Message'), template.element, box.element,
      mergeButtons(choices.mergeFields, box)),
    h('div', { class: 'section' }, h('h2', null, 'How and when'), sender.element, optOut.element,
      track.element, when.element),
    problems, h('div', { class: 'actions' }, send, button('Clear', () => {
      draftDrop(NAME);
      reload();
    }, { kind: 'quiet' })));
  element.addEventListener('submit', (event) => {
    event.preventDefault();
    if (isBusy(send) || send.disabled) return;
    if (!filled(recipients, box.field)) return;
    busy(send, true);
    const wanted = request();
    ask(signal, wanted, when.value(), () => submit(wanted)).finally(() => busy(send, false));
  });
  showUnanswered();
  showSide();
  replace(content, head('Compose', { lead: 'One message, to one person or to many.' }),
    h('div', { class: 'two' }, element, h('div', { class: 'two-side' }, side)));
  return content;
}

/**
 * @param {ReturnType<typeof recipientsField>} recipients
 * @param {import('../part/field.js').Field} body
 */
function filled(recipients, body) {
  const nobody = recipients.empty();
  if (nobody) recipients.field.complain('Say who gets it: a number, a contact or a list.');
  const wordless = body.value().trim() === '';
  if (wordless) body.complain('Write a message.');
  if (nobody) recipients.field.control.focus();
  else if (wordless) body.control.focus();
  return !nobody && !wordless;
}

/**
 * Says the price before it is paid: that of this very request, as the one on screen may still be
 * that of what was written a moment ago.
 * @param {AbortSignal} signal
 * @param {Record<string, unknown>} request
 * @param {string} when
 * @param {() => Promise<void>} submit
 */
async function ask(signal, request, when, submit) {
  const price = await quoted(request);
  if (signal.aborted) return undefined;
  const people = price ? counted(price.recipients, 'person', 'people') : 'everyone chosen';
  const moment = fromLondon(when);
  return new Promise((resolve) => {
    const asked = confirm({
      title: moment ? 'Schedule this message?' : 'Send this message?',
      text: h('div', { class: 'stack-tight' },
        h('p', null, `It goes to ${people}`, moment ? `, ${comingTime(moment)} London time` : '',
          '.'),
        h('p', { class: 'big-price' }, testMode() ? 'Free: test mode'
          : price ? credits(price.credits) : 'The price is not known'),
        price && price.rejected.length > 0
          ? h('p', null, `${counted(price.rejected.length, 'recipient')} will not get it.`) : null,
        price && price.credits > price.balance
          ? notice('bad', `The balance is ${credits(price.balance)}: this will be refused.`)
          : null),
      action: sendWords(price, when),
      run: submit,
    });
    asked.element.addEventListener('close', () => resolve(undefined));
  });
}

/** @param {Record<string, unknown>} request @returns {Promise<Quote | null>} */
async function quoted(request) {
  return post('/v1/messages/quote', request).then((answer) => answer.data, () => null);
}

/** @param {Quote | null} price @param {string} when */
function sendWords(price, when) {
  const verb = when ? 'Schedule' : 'Send';
  if (!price || price.recipients === 0) return verb;
  const what = counted(price.recipients, 'message');
  return testMode() ? `${verb} ${what}` : `${verb} ${what} for ${credits(price.credits)}`;
}

/**
 * @param {Quote | null} price
 * @param {Record<string, unknown>} request
 * @param {string} body
 */
function quoteCard(price, request, body) {
  if (!price) {
    return h('section', { class: 'card' }, h('h2', null, 'Price'),
      h('p', { class: 'faint' }, 'Say who gets it and write something: the price appears here.'));
  }
  return h('section', { class: 'card stack' }, h('h2', null, 'Price'),
    h('p', { class: 'big-price' }, credits(price.credits)),
    h('dl', { class: 'facts' },
      h('dt', null, 'Goes to'), h('dd', null, counted(price.recipients, 'person', 'people')),
      h('dt', null, 'Balance'), h('dd', null, credits(price.balance))),
    price.preview !== null && price.preview !== body
      ? h('div', { class: 'stack-tight' }, h('h3', null, 'As the first person reads it'),
        h('div', { class: 'preview' }, price.preview)) : null,
    rejections(price.rejected),
    asRequest('POST', '/v1/messages', request));
}

/** @param {any} answer */
function sentPage({ data, meta }) {
  const made = data.messages.length;
  const scheduled = data.messages.find((/** @type {any} */ one) => one.status === 'scheduled');
  const title = made === 0 ? 'Nothing was sent'
    : scheduled ? `${counted(made, 'message')} scheduled` : `${counted(made, 'message')} sent`;
  return [
    head(title, {
      lead: scheduled ? `Goes on ${fullTime(new Date(scheduled.scheduled_at))}.` : null,
    }),
    h('div', { class: 'stack' },
      made === 0 ? notice('bad', 'No recipient can be texted. Nothing was charged.')
        : notice('good', h('p', null, meta.test ? 'Test mode: nothing was charged.'
          : `${credits(meta.credits)} taken. The balance is ${credits(meta.balance)}.`)),
      rejections(data.rejected),
      h('div', { class: 'actions' },
        made > 0 ? linkButton('Watch them go', `/console/messages?batch_id=${data.batch_id}`,
          { kind: 'main' }) : null,
        button('Write another', reload))),
  ];
}
