// The scenario with openapi-typescript and openapi-fetch.
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { paths } from '../build/openapi-typescript/api.js';
import type { paths as operatorPaths } from '../build/openapi-typescript/operator.js';

const { SMS_URL, SMS_KEY, SMS_ADMIN_TOKEN } = process.env;
const bearer = (key: string | undefined) => ({ Authorization: `Bearer ${key}` });
const api = createClient<paths>({ baseUrl: `${SMS_URL}/api/v1`, headers: bearer(SMS_KEY) });

// Send.
const batch = 'openapi-fetch';
const to = ['07700 900140', '07700 900141', '07700 900142', '07700 900143', '07700 900144'];
const sent = await api.POST('/messages', {
  params: { header: { 'Idempotency-Key': batch } },
  body: { to, body: 'Hello', client_ref: batch },
});
assert(sent.data, JSON.stringify(sent.error));
assert.equal(sent.data.data.messages.length, 5);
assert.equal(sent.data.meta.credits, 5);

// List all pages.
const ids = new Set<string>();
let cursor: string | undefined;
do {
  const query = cursor ? { client_ref: batch, limit: 2, cursor } : { client_ref: batch, limit: 2 };
  const page = await api.GET('/messages', { params: { query } });
  assert(page.data);
  for (const message of page.data.data) ids.add(message.id);
  cursor = page.data.meta.next_cursor ?? undefined;
} while (cursor);
assert.equal(ids.size, 5);

// Create a contact.
const person = { phone: '07700 900145', first_name: 'Sam', custom: { points: 120, vip: true } };
const contact = await api.POST('/contacts', { body: person });
assert(contact.data);
assert.equal(contact.data.data.custom['points'], 120);

// Launch a campaign.
const list = await api.POST('/lists', { body: { name: batch } });
assert(list.data);
const list_id = list.data.data.id;
await api.POST('/lists/{id}/contacts', {
  params: { path: { id: list_id } },
  body: { contact_ids: [contact.data.data.id] },
});
const draft = await api.POST('/campaigns', {
  body: { name: batch, body: 'Hi {first_name}', list_id, ignore_quiet_hours: true },
});
assert(draft.data);
const launched = await api.POST('/campaigns/{id}/send', {
  params: { path: { id: draft.data.data.id } },
});
assert(launched.data);
assert.equal(launched.data.data.recipients, 1);

// Read an error's code.
const twice = await api.POST('/contacts', { body: person });
assert.equal(twice.error?.error.code, 'contact_exists');

// The operator's API.
const operator = createClient<operatorPaths>({
  baseUrl: `${SMS_URL}/admin/v1`,
  headers: bearer(SMS_ADMIN_TOKEN),
});
const account = await operator.POST('/accounts', { body: { name: batch, credits: 7 } });
assert.equal(account.data?.data.credits, 7);
const accounts = await operator.GET('/accounts', { params: { query: { limit: 1 } } });
assert.equal(accounts.data?.data[0]?.name, batch);
const id = 'acc_none';
const missing = await operator.GET('/accounts/{id}', { params: { path: { id } } });
assert.equal(missing.error?.error.code, 'not_found');
