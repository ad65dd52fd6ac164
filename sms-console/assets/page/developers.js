// For those who write programs: endpoints for events, keys, and requests to copy.

import { Refused, get, newKey, post } from '../api.js';
import { h } from '../dom.js';
import { time, worded } from '../format.js';
import { badge } from '../part/badge.js';
import { button } from '../part/button.js';
import { code, curl } from '../part/code.js';
import { dialog } from '../part/dialog.js';
import { editor } from '../part/editor.js';
import { head } from '../part/head.js';
import { notice } from '../part/notice.js';
import { empty, loaded } from '../part/state.js';
import { table } from '../part/table.js';
import { webhookFields } from './webhook_form.js';

/** @typedef {import('../api.js').Schemas['Webhook']} Webhook */

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ signal }) {
  const webhooks = loaded(signal, async () => (await get('/v1/webhooks', {}, signal)).data,
    (/** @type {Webhook[]} */ all) => (all.length === 0
      ? empty('No endpoints yet', 'An endpoint is an address of yours that events are sent to.')
      : table('Endpoints', columns(), all).element));
  const keys = loaded(signal, () => readKeys(signal), keysCard);
  const sample = { to: '07700 900123', body: 'Hello from the API' };
  return {
    title: 'Developers',
    content: [
      head('Developers', {
        lead: ['Everything here is done through the API. ',
          h('a', { href: '/docs', target: '_blank', rel: 'noopener' }, 'Read its documentation'),
          '.'],
      }),
      h('div', { class: 'stack stack-loose' },
        h('section', { class: 'stack', 'aria-label': 'Endpoints' },
          h('div', { class: 'card-head' }, h('h2', null, 'Endpoints for events'),
            button('Add an endpoint', () => add(webhooks.refresh), { kind: 'main' })),
          webhooks.element),
        h('section', { class: 'stack', 'aria-label': 'API keys' }, h('h2', null, 'API keys'),
          keys.element),
        h('section', { class: 'card stack' }, h('h2', null, 'A first request'),
          code('Send a message with curl', curl('POST', '/v1/messages', sample)),
          code('Read the messages with curl', curl('GET', '/v1/messages')))),
    ],
  };
}

/** @returns {import('../part/table.js').Column<Webhook>[]} */
function columns() {
  return [
    {
      label: 'Address',
      cell: (one) => h('a', {
        class: 'row-link', href: `/console/developers/webhooks/${one.id}`,
      }, one.url),
    },
    { label: 'About', cell: (one) => one.description ?? '–' },
    { label: 'State', cell: (one) => webhookState(one) },
    { label: 'Events', cell: (one) => one.events.join(', ') },
    { label: 'Last delivered', cell: (one) => time(one.last_delivered_at, 'Never') },
  ];
}

/** @param {Webhook} webhook */
export function webhookState(webhook) {
  if (!webhook.enabled) return badge('Off', 'bad');
  if (webhook.consecutive_failures > 0) {
    return badge(`${webhook.consecutive_failures} failed in a row`, 'warn');
  }
  return badge('On', 'good');
}

/** @param {() => void} changed */
function add(changed) {
  const made = webhookFields(null);
  const key = newKey();
  editor({
    title: 'Add an endpoint', fields: made.fields, content: made.content,
    submit: 'Add the endpoint',
    save: async () => {
      const { data } = await post('/v1/webhooks', made.value(), key);
      secretShow(data.secret);
      changed();
    },
  });
}

/** @param {string} secret */
export function secretShow(secret) {
  dialog('The signing secret', (close) => [
    notice('warn', h('p', null, 'Copy it now: it is shown this once.')),
    code('Signing secret', secret),
    h('p', { class: 'small faint' }, 'Your program checks with it that a delivery is ours.'),
    h('div', { class: 'actions' }, button('I have copied it', close, { kind: 'main' })),
  ]);
}

/** @param {AbortSignal} signal */
async function readKeys(signal) {
  try {
    return (await get('/v1/keys', {}, signal)).data;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  }
}

/** @param {any[] | null} keys */
function keysCard(keys) {
  const said = h('p', null, 'Keys are made and revoked by whoever runs the service. A key is shown '
    + 'once, when it is made: if it leaks, ask for a new one at once.');
  if (!keys) return h('div', { class: 'card' }, said);
  return h('div', { class: 'stack' }, said, table('API keys', [
    { label: 'Name', cell: (one) => h('strong', null, one.name ?? 'No name') },
    {
      label: 'Kind',
      cell: (one) => badge(worded(one.kind), one.kind === 'live' ? 'good' : 'warn'),
    },
    { label: 'Key', cell: (one) => h('code', null, `${one.prefix}…${one.last_four}`) },
    { label: 'Last used', cell: (one) => time(one.last_used_at, 'Never') },
    {
      label: 'State',
      cell: (one) => (one.revoked_at ? badge('Revoked', 'bad') : badge('Valid', 'good')),
    },
  ], keys).element);
}
