// Trying things out: a message that comes in, a receipt, and the sandbox's clock.

import { Refused, get, newKey, post } from '../api.js';
import { h } from '../dom.js';
import { fullTime, phone } from '../format.js';
import { workButton } from '../part/button.js';
import { field } from '../part/field.js';
import { form } from '../part/form.js';
import { head } from '../part/head.js';
import { toast, toastError } from '../part/notice.js';
import { loaded } from '../part/state.js';

/** @param {import('../router.js').View} view @returns {Promise<import('../router.js').Page>} */
export async function page({ signal }) {
  const { data: numbers } = await get('/admin/numbers', {}, signal);
  const clock = loaded(signal, () => readClock(signal),
    (now) => clockCard(now, () => clock.refresh()));
  return {
    title: 'Sandbox',
    content: [
      head('Sandbox', { lead: 'Act as a network would, and let time pass.' }),
      h('div', { class: 'columns' }, inboundCard(numbers), clock.element),
    ],
  };
}

/** @param {any[]} numbers */
function inboundCard(numbers) {
  const from = field({ name: 'from', label: 'From', type: 'tel', required: true,
    value: '07700 900123' });
  const to = field({
    name: 'to', label: 'To', type: 'select', required: true,
    options: numbers.map((one) => ({
      value: one.phone_number,
      label: `${phone(one.phone_number)}${one.account_id ? '' : ' (shared)'}`,
    })),
  });
  const body = field({ name: 'body', label: 'Text', type: 'textarea', required: true });
  let key = newKey();
  return h('section', { class: 'card' }, h('h2', null, 'A message comes in'), form({
    label: 'A message comes in', fields: [from, to, body], submit: 'Let it come in',
    content: [from.element, to.element, body.element],
    onsubmit: async () => {
      const { data } = await post('/admin/inbound', {
        from: from.value().trim(), to: to.value(), body: body.value(),
      }, key);
      key = newKey();
      body.set('');
      toast(data ? 'It is in the account’s inbox.' : 'It belongs to no account: it is unrouted.');
    },
  }));
}

/** @param {AbortSignal} signal */
async function readClock(signal) {
  try {
    return (await get('/admin/clock', {}, signal)).data;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  }
}

/**
 * @param {{now: string, moved_seconds: number} | null} clock
 * @param {() => void} changed
 */
function clockCard(clock, changed) {
  if (!clock) {
    return h('section', { class: 'card stack' }, h('h2', null, 'The clock'),
      h('p', null, 'This server runs on real time. Start it with SMS_SANDBOX=true for a clock '
        + 'that can be moved.'));
  }
  /** @param {string} text @param {number} seconds */
  const pass = (text, seconds) => workButton(text, async () => {
    await post('/admin/clock', { advance_seconds: seconds });
    toast('Time has passed, and everything that fell due was done.');
    changed();
  }, toastError);
  return h('section', { class: 'card stack' }, h('h2', null, 'The clock'),
    h('p', null, fullTime(new Date(clock.now))),
    h('div', { class: 'actions' }, pass('One minute passes', 60), pass('One hour', 3600),
      pass('One day', 86_400), pass('30 days', 2_592_000)));
}
