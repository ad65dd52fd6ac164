// The form of an endpoint.

import { h } from '../dom.js';
import { field } from '../part/field.js';

/** @typedef {import('../api.js').Schemas['Webhook']} Webhook */

/** @type {[string, string][]} */
const EVENTS = [
  ['message.sent', 'A message has left for the network'],
  ['message.delivered', 'A message has been delivered'],
  ['message.failed', 'A message has failed'],
  ['message.received', 'Somebody has texted you'],
  ['opt_out.created', 'Somebody has opted out'],
  ['link.clicked', 'Somebody has opened a tracked link'],
];

/** @param {Webhook | null} webhook */
export function webhookFields(webhook) {
  const url = field({
    name: 'url', label: 'Address', type: 'url', required: true, value: webhook?.url ?? '',
    hint: 'It must be reachable on the public internet.',
    attributes: { placeholder: 'https://example.com/hooks' },
  });
  const description = field({
    name: 'description', label: 'About', optional: true, value: webhook?.description ?? '',
  });
  const events = EVENTS.map(([name, label]) => field({
    name: `event-${name}`, label: `${label} (${name})`, type: 'check',
    value: webhook ? webhook.events.some((one) => one === name) : true,
  }));
  const enabled = field({
    name: 'enabled', label: 'On', type: 'check', value: webhook?.enabled ?? true,
  });
  return {
    fields: [url, description, enabled],
    content: [
      url.element, description.element,
      h('fieldset', { class: 'stack-tight' }, h('legend', { class: 'legend' }, 'Events'),
        events.map((one) => one.element)),
      enabled.element,
    ],
    value: () => ({
      url: url.value().trim(),
      description: description.value().trim() || null,
      events: EVENTS.filter((_, index) => events[index].checked()).map(([name]) => name),
      enabled: enabled.checked(),
    }),
  };
}
