// Who gets a message: numbers, contacts and a list.

import { get, post } from '../api.js';
import { debounced, h, replace } from '../dom.js';
import { counted, fullName, phone } from '../format.js';
import { field } from '../part/field.js';
import { inWords } from '../part/notice.js';

/** @typedef {import('../api.js').Contact} Contact */
/** @typedef {Pick<Contact, 'id' | 'phone' | 'first_name' | 'last_name'>} Chosen */
/** @typedef {{numbers: string, contacts: Chosen[], list: string}} Recipients */

/**
 * @param {AbortSignal} signal
 * @param {{id: string, name: string, contact_count: number}[]} lists
 * @param {Recipients} start
 * @param {() => void} changed
 */
export function recipientsField(signal, lists, start, changed) {
  const numbers = field({
    name: 'to', label: 'Numbers', type: 'textarea', value: start.numbers,
    hint: 'Separated by commas or new lines.',
    attributes: { rows: 2, class: 'input input-short', inputmode: 'tel' },
  });
  numbers.control.addEventListener('input', changed);
  const list = field({
    name: 'list_id', label: 'A list', type: 'select', value: start.list,
    options: [{ value: '', label: lists.length ? 'None' : 'There are no lists' },
      ...lists.map((one) => ({
        value: one.id, label: `${one.name} (${counted(one.contact_count, 'contact')})`,
      }))],
  });
  list.control.addEventListener('change', changed);
  let chosen = [...start.contacts];
  const picker = contactPicker(signal, () => chosen, (next) => {
    chosen = next;
    changed();
  });
  const element = h('div', { class: 'section' },
    numbers.element, picker.element, list.element);
  return {
    element,
    field: numbers,
    /** @returns {Recipients} */
    value: () => ({ numbers: numbers.value(), contacts: chosen, list: list.value() }),
    empty: () => !numbers.value().trim() && chosen.length === 0 && !list.value(),
    request: () => ({
      to: numbers.value().trim() || undefined,
      contact_ids: chosen.length > 0 ? chosen.map((one) => one.id) : undefined,
      list_id: list.value() || undefined,
    }),
    /** @param {() => Record<string, unknown>} request */
    preview: (request) => previewCard(signal, chosen, list.value(), request),
  };
}

/**
 * Finds contacts by name or number, and shows those that were chosen.
 * @param {AbortSignal} signal
 * @param {() => Chosen[]} chosen
 * @param {(next: Chosen[]) => void} choose
 */
function contactPicker(signal, chosen, choose) {
  const search = field({
    name: 'contact_search', label: 'Contacts', type: 'search', hint: 'Type a name or a number.',
  });
  const found = h('div', { class: 'choices' });
  const said = h('p', { class: 'unseen', role: 'status' });
  const chips = h('div', { class: 'chips' });
  const show = () => replace(chips, chosen().map((one) => h('span', { class: 'chip' },
    fullName(one) || phone(one.phone),
    h('button', {
      type: 'button', 'aria-label': `Remove ${fullName(one) || phone(one.phone)}`,
      onclick: () => {
        choose(chosen().filter((other) => other.id !== one.id));
        show();
        search.control.focus();
      },
    }, '×'))));
  const look = debounced(250, async () => {
    const q = search.value().trim();
    if (!q) {
      replace(found);
      return;
    }
    const answer = await get('/v1/contacts', { q, limit: 8 }, signal).catch(() => null);
    if (!answer || search.value().trim() !== q) return;
    /** @type {Contact[]} */
    const offered = answer.data.filter((/** @type {Contact} */ one) => (
      !chosen().some((other) => other.id === one.id)));
    replace(said, `${counted(offered.length, 'contact')} found`);
    replace(found, offered.length === 0 ? h('p', { class: 'small faint' }, 'Nobody found.') : null,
      offered.map((one) => h('button', {
        type: 'button',
        onclick: () => {
          const { id, first_name, last_name } = one;
          choose([...chosen(), { id, phone: one.phone, first_name, last_name }]);
          search.set('');
          replace(found);
          show();
          search.control.focus();
        },
      }, [fullName(one) || 'No name', phone(one.phone), one.opted_out && 'opted out']
        .filter(Boolean).join(', '))));
  });
  search.control.addEventListener('input', look);
  show();
  return { element: h('div', { class: 'stack-tight' }, search.element, found, said, chips) };
}

/**
 * Shows the message as one of the recipients would read it.
 * @param {AbortSignal} signal
 * @param {Chosen[]} chosen
 * @param {string} list
 * @param {() => Record<string, unknown>} request
 */
function previewCard(signal, chosen, list, request) {
  if (chosen.length === 0 && !list) return null;
  const box = h('div', { class: 'stack-tight' });
  const card = h('details', { class: 'card' },
    h('summary', null, 'Read it as somebody else'), box);
  card.addEventListener('toggle', async () => {
    if (!card.open || box.hasChildNodes()) return;
    try {
      const members = list
        ? (await get(`/v1/lists/${list}/contacts`, { limit: 50 }, signal)).data : [];
      showPreview(box, [...chosen, ...members], request);
    } catch (error) {
      replace(box, inWords(error));
    }
  });
  return card;
}

/**
 * @param {HTMLElement} box
 * @param {Chosen[]} people
 * @param {() => Record<string, unknown>} request
 */
function showPreview(box, people, request) {
  const text = h('div', { class: 'preview', role: 'status' });
  const who = field({
    name: 'preview', label: 'Person', type: 'select', options: people.map((one) => ({
      value: one.phone, label: `${fullName(one) || 'No name'}, ${phone(one.phone)}`,
    })),
  });
  const read = async () => {
    const person = who.value();
    const body = { ...request(), to: [person], contact_ids: undefined, list_id: undefined };
    const said = await post('/v1/messages/quote', body)
      .then(({ data }) => data.preview ?? 'This person would not get it.', inWords);
    if (who.value() === person) replace(text, said);
  };
  who.control.addEventListener('change', read);
  replace(box, people.length > 0 ? [who.element, text] : 'The list is empty.');
  if (people.length > 0) read();
}
