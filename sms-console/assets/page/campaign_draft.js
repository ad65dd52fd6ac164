// Drafting a campaign: its name, its audience, its words, and what it would cost.

import { get, newKey, patch, post } from '../api.js';
import { draftDrop, draftRead, draftWrite } from '../draft.js';
import { h, replace } from '../dom.js';
import { counted, credits } from '../format.js';
import { linkButton } from '../part/button.js';
import { field } from '../part/field.js';
import { form } from '../part/form.js';
import { head } from '../part/head.js';
import { rejections } from '../part/rejection.js';
import { textBox } from '../part/textbox.js';
import { navigate } from '../router.js';
import { messageChoices, mergeButtons } from './writing.js';

/** @typedef {import('../api.js').Campaign} Campaign */
/** @typedef {import('../api.js').Schemas['Quote']} Quote */

/** @param {import('../router.js').View} view @returns {Promise<import('../router.js').Page>} */
export async function page({ params, url, signal }) {
  const choices = await messageChoices();
  /** @type {Partial<Campaign>} */
  const kept = draftRead(nameOf(params.id)) ?? {};
  const stored = params.id ? (await get(`/v1/campaigns/${params.id}`)).data : {};
  const start = { ...stored, ...kept };
  const list = url.searchParams.get('list');
  if (list) start.list_id = list;
  const title = params.id ? 'Edit the draft' : 'Draft a campaign';
  return {
    title,
    content: [
      head(title, {
        back: ['Campaigns', '/console/campaigns'],
        lead: 'Nothing is sent before you launch it and see the price.',
      }),
      draftForm(params.id ?? null, start, choices, signal),
    ],
  };
}

/** @param {string | undefined} id */
const nameOf = (id) => `campaign ${id ?? 'new'}`;

/**
 * @param {string | null} id
 * @param {Partial<Campaign>} start
 * @param {import('./writing.js').Choices} choices
 * @param {AbortSignal} signal
 */
function draftForm(id, start, choices, signal) {
  const side = h('div', { class: 'two-side' });
  const { fields, content, value, box } = draftFields(start, choices, signal, (quote) => {
    replace(side, priceCard(quote, box.field.value()));
  });
  const key = newKey();
  const keep = () => draftWrite(nameOf(id ?? undefined), value());
  const element = form({
    label: 'Campaign', fields, content, submit: 'Save the draft',
    beside: linkButton('Go back', id ? `/console/campaigns/${id}` : '/console/campaigns'),
    onsubmit: async () => {
      const { data } = id ? await patch(`/v1/campaigns/${id}`, value())
        : await post('/v1/campaigns', value(), key);
      draftDrop(nameOf(id ?? undefined));
      navigate(`/console/campaigns/${data.id}`);
    },
  });
  element.addEventListener('input', keep);
  element.addEventListener('change', keep);
  return h('div', { class: 'two' }, element, side);
}

/**
 * @param {Partial<Campaign>} start
 * @param {import('./writing.js').Choices} choices
 * @param {AbortSignal} signal
 * @param {(quote: Quote | null) => void} onquote
 */
function draftFields(start, choices, signal, onquote) {
  const name = field({
    name: 'name', label: 'Name', required: true, value: start.name ?? '',
    hint: 'Only you see it.',
  });
  const list = field({
    name: 'list_id', label: 'Audience', type: 'select', required: true, value: start.list_id ?? '',
    options: [{ value: '', label: choices.lists.length ? 'Choose a list' : 'There are no lists' },
      ...choices.lists.map((one) => ({
        value: one.id, label: `${one.name} (${counted(one.contact_count, 'contact')})`,
      }))],
  });
  const sender = field({
    name: 'sender', label: 'Send from', type: 'select', value: start.sender ?? '',
    options: [{ value: '', label: 'A number that people can answer' },
      ...choices.senders.map((one) => ({ value: one.value, label: one.value }))],
  });
  const optOut = field({
    name: 'append_opt_out', label: 'Add the line that says how to opt out', type: 'check',
    value: start.append_opt_out ?? true,
  });
  const track = field({
    name: 'track_links', label: 'Shorten links and count who opens them', type: 'check',
    value: start.track_links ?? false,
  });
  const quiet = field({
    name: 'ignore_quiet_hours', label: 'Send during quiet hours too', type: 'check',
    value: start.ignore_quiet_hours ?? false,
    hint: 'Otherwise a campaign launched at night waits for the morning.',
  });
  const value = () => ({
    name: name.value().trim(), body: box.field.value(), list_id: list.value(),
    sender: sender.value() || null, append_opt_out: optOut.checked(),
    track_links: track.checked(), ignore_quiet_hours: quiet.checked(),
  });
  const box = textBox({
    signal, label: 'Message', value: start.body ?? '', onquote,
    request: () => (list.value() && box.field.value().trim() ? quoteOf(value()) : null),
  });
  for (const one of [list, sender, optOut, track]) {
    one.control.addEventListener('change', () => box.quote());
  }
  const content = [
    name.element, list.element, sender.element, box.element,
    mergeButtons(choices.mergeFields, box), optOut.element, track.element, quiet.element,
  ];
  return { fields: [name, list, sender, box.field], content, value, box };
}

/** The send that a campaign comes to. @param {Partial<Campaign>} campaign */
export function quoteOf({ list_id, body, sender, append_opt_out, track_links }) {
  return { list_id, body, sender, append_opt_out, track_links };
}

/** @param {Quote | null} quote @param {string} body */
function priceCard(quote, body) {
  if (!quote) return null;
  return h('section', { class: 'card stack' }, h('h2', null, 'Price'),
    h('p', { class: 'big-price' }, credits(quote.credits)),
    h('p', null, `for ${counted(quote.recipients, 'person', 'people')}. `
      + `The balance is ${credits(quote.balance)}.`),
    quote.preview !== null && quote.preview !== body ? h('div', { class: 'stack-tight' },
      h('h3', null, 'As the first person reads it'),
      h('div', { class: 'preview' }, quote.preview)) : null,
    rejections(quote.rejected));
}
