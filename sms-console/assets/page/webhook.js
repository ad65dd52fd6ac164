// One endpoint: whether it answers, and every delivery to it.

import { Refused, get, patch, post, remove } from '../api.js';
import { h, replace } from '../dom.js';
import { fromLondon, time, toLondon, whole } from '../format.js';
import { live } from '../live.js';
import { statusBadge } from '../part/badge.js';
import { button, workButton } from '../part/button.js';
import { asRequest } from '../part/code.js';
import { confirm, dialog } from '../part/dialog.js';
import { editor } from '../part/editor.js';
import { field } from '../part/field.js';
import { head } from '../part/head.js';
import { inWords, notice, toast, toastError } from '../part/notice.js';
import { empty, loaded, loading } from '../part/state.js';
import { pagedTable } from '../part/table.js';
import { navigate } from '../router.js';
import { secretShow, webhookState } from './developers.js';
import { webhookFields } from './webhook_form.js';

/** @typedef {import('../api.js').Schemas['Webhook']} Webhook */
/** @typedef {import('../api.js').Schemas['Delivery']} Delivery */

/** @param {import('../router.js').View} view @returns {Promise<import('../router.js').Page>} */
export async function page({ params, signal }) {
  // Only a server that keeps a log of events can send them again.
  const log = await get('/v1/events', { limit: 1 }, signal).then(() => true, () => false);
  const path = `/v1/webhooks/${encodeURIComponent(params.id)}`;
  const deliveries = pagedTable({
    signal, caption: 'Deliveries', path: `${path}/deliveries`,
    columns: columns(path, () => changed()),
    empty: () => empty('No deliveries yet', 'They are kept for 30 days.'),
  });
  const answer = h('div', { role: 'status' });
  // There is no endpoint's own read: the list is short, ten at most.
  const top = loaded(signal, async () => {
    const { data } = await get('/v1/webhooks', {}, signal);
    const found = data.find((/** @type {Webhook} */ one) => one.id === params.id);
    if (!found) throw new Refused(404, 'not_found', 'There is no such endpoint.', null);
    return found;
  }, (/** @type {Webhook} */ webhook) => (
    webhookHead(webhook, path, answer, log, () => changed())));
  const changed = () => {
    top.refresh();
    deliveries.refresh();
  };
  live(signal, () => {
    top.refresh();
    deliveries.refreshFirst();
  });
  return {
    title: 'Endpoint',
    content: [top.element, h('div', { class: 'stack' }, answer, h('h2', null, 'Deliveries'),
      deliveries.element, asRequest('GET', `${path}/deliveries`))],
  };
}

/**
 * @param {Webhook} webhook
 * @param {string} path
 * @param {HTMLElement} answer
 * @param {boolean} log
 * @param {() => void} changed
 */
function webhookHead(webhook, path, answer, log, changed) {
  const off = !webhook.enabled;
  return [
    head(webhook.url, {
      back: ['Developers', '/console/developers'],
      beside: webhookState(webhook),
      lead: [webhook.description ? `${webhook.description}. ` : '', webhook.events.join(', ')],
      actions: [
        workButton('Send a test', () => tryOut(path, answer), toastError, { kind: 'main' }),
        button('Edit', () => edit(webhook, path, changed)),
        log ? button('Replay', () => replay(path, changed)) : null,
        button('New secret', () => rotate(path)),
        button('Delete', () => erase(path), { kind: 'danger' }),
      ],
    }),
    off ? notice('bad', h('p', null, webhook.disabled_reason === 'consecutive_failures'
      ? 'It failed 100 times in a row and was switched off. Nothing is sent to it.'
      : 'It is off. Nothing is sent to it.'),
    h('div', null, workButton('Switch it on', async () => {
      await patch(path, { enabled: true });
      changed();
    }, toastError, { small: true }))) : null,
  ];
}

/** @param {string} path @param {HTMLElement} box */
async function tryOut(path, box) {
  replace(box, loading('Waiting for the endpoint…'));
  try {
    const { data } = await post(`${path}/test`);
    replace(box, notice(data.delivered ? 'good' : 'bad',
      h('p', null, data.delivered ? 'The endpoint took the test.' : 'The endpoint did not take the '
        + `test${data.error ? `: ${data.error.replaceAll('_', ' ')}` : ''}.`),
      h('p', null, data.status_code ? `It answered ${data.status_code} after ` : 'No answer after ',
        `${whole(data.duration_ms)} ms.`),
      data.response_body ? h('pre', { class: 'wrap' }, data.response_body) : null));
  } catch (error) {
    replace(box, notice('bad', inWords(error)));
  }
}

/**
 * @param {string} path
 * @param {() => void} changed
 * @returns {import('../part/table.js').Column<Delivery>[]}
 */
function columns(path, changed) {
  return [
    { label: 'Event', cell: (one) => h('strong', null, one.event_type) },
    { label: 'State', cell: (one) => statusBadge(one.status) },
    {
      label: 'Last answer',
      cell: (one) => [one.last_status_code ?? '', one.last_error?.replaceAll('_', ' ') ?? '']
        .filter(Boolean).join(', ') || '–',
    },
    { label: 'Attempts', right: true, cell: (one) => whole(one.attempts) },
    { label: 'Made', cell: (one) => time(one.created_at) },
    { label: 'Next attempt', cell: (one) => time(one.next_attempt_at) },
    {
      label: 'Actions', hideLabel: true,
      cell: (one) => h('div', { class: 'actions' },
        button('Details', () => showBody(one),
          { small: true, label: `Details of ${one.event_type}` }),
        workButton('Retry', async () => {
          await post(`${path}/deliveries/${one.id}/retry`);
          toast('It is sent again now.');
          changed();
        }, toastError, { small: true, label: `Retry ${one.event_type}` })),
    },
  ];
}

/** @param {Delivery} delivery */
function showBody(delivery) {
  dialog('The delivery', (close) => {
    const box = h('div', null, loading());
    get(`/v1/events/${delivery.event_id}`).then(({ data }) => {
      replace(box, h('pre', { class: 'wrap', tabindex: '0' }, JSON.stringify(data, null, 2)));
    }, (error) => {
      replace(box, h('p', null, error instanceof Refused && error.status === 404
        ? 'This event’s body is not kept.' : inWords(error)));
    });
    return [
      h('dl', { class: 'facts' },
        h('dt', null, 'Event'), h('dd', null, h('code', null, delivery.event_id)),
        h('dt', null, 'Delivery'), h('dd', null, h('code', null, delivery.id)),
        h('dt', null, 'Last attempt'), h('dd', null, time(delivery.last_attempt_at)),
        h('dt', null, 'Delivered'), h('dd', null, time(delivery.delivered_at))),
      box, h('div', { class: 'actions' }, button('Close', close)),
    ];
  });
}

/** @param {Webhook} webhook @param {string} path @param {() => void} changed */
function edit(webhook, path, changed) {
  const made = webhookFields(webhook);
  editor({
    title: 'Edit the endpoint', fields: made.fields, content: made.content, submit: 'Save',
    save: async () => {
      await patch(path, made.value());
      toast('Saved.');
      changed();
    },
  });
}

/** @param {string} path @param {() => void} changed */
function replay(path, changed) {
  const from = field({
    name: 'from', label: 'Everything since', type: 'datetime-local', required: true,
    value: toLondon(new Date(Date.now() - 86_400_000)), hint: 'London time.',
  });
  editor({
    title: 'Send events again', fields: [from], submit: 'Send them again',
    save: async () => {
      const { data } = await post(`${path}/replay`, { from: fromLondon(from.value()) });
      const count = data?.events ?? data?.replayed ?? data?.count;
      toast(count === undefined ? 'They are sent again.'
        : `${whole(count)} events are sent again.`);
      changed();
    },
  });
}

/** @param {string} path */
function rotate(path) {
  confirm({
    title: 'Make a new signing secret?',
    text: 'The old one stays valid for 24 hours, so that your program can change over.',
    action: 'Make a new secret',
    run: async () => {
      const { data } = await patch(path, { rotate_secret: true });
      secretShow(data.secret);
    },
  });
}

/** @param {string} path */
function erase(path) {
  confirm({
    title: 'Delete this endpoint?',
    text: 'Nothing is sent to it any more, and its deliveries are gone.',
    action: 'Delete the endpoint',
    danger: true,
    run: async () => {
      await remove(path);
      toast('The endpoint was deleted.');
      navigate('/console/developers');
    },
  });
}
