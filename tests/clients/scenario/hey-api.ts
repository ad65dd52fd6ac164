// The scenario with @hey-api/openapi-ts.
import assert from 'node:assert/strict';
import { client } from '../build/hey-api/api/client.gen.js';
import {
  campaignCreate, campaignSend, contactCreate, listAdd, listCreate, messageList, messageSend,
} from '../build/hey-api/api/sdk.gen.js';
import { client as operatorClient } from '../build/hey-api/operator/client.gen.js';
import { accountCreate, accountGet, accountList } from '../build/hey-api/operator/sdk.gen.js';

const { SMS_URL, SMS_KEY, SMS_ADMIN_TOKEN } = process.env;
client.setConfig({ baseUrl: `${SMS_URL}/api/v1`, auth: () => SMS_KEY ?? '' });

// Send.
const batch = 'hey-api';
const to = ['07700 900150', '07700 900151', '07700 900152', '07700 900153', '07700 900154'];
const sent = await messageSend({
  headers: { 'Idempotency-Key': batch },
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
  const page = await messageList({ query });
  assert(page.data);
  for (const message of page.data.data) ids.add(message.id);
  cursor = page.data.meta.next_cursor ?? undefined;
} while (cursor);
assert.equal(ids.size, 5);

// Create a contact.
const person = { phone: '07700 900155', first_name: 'Sam', custom: { points: 120, vip: true } };
const contact = await contactCreate({ body: person });
assert(contact.data);
assert.equal(contact.data.data.custom['points'], 120);

// Launch a campaign.
const list = await listCreate({ body: { name: batch } });
assert(list.data);
const list_id = list.data.data.id;
await listAdd({ path: { id: list_id }, body: { contact_ids: [contact.data.data.id] } });
const draft = await campaignCreate({
  body: { name: batch, body: 'Hi {first_name}', list_id, ignore_quiet_hours: true },
});
assert(draft.data);
const launched = await campaignSend({ path: { id: draft.data.data.id } });
assert(launched.data);
assert.equal(launched.data.data.recipients, 1);

// Read an error's code.
const twice = await contactCreate({ body: person });
assert.equal(twice.error?.error.code, 'contact_exists');

// The operator's API.
operatorClient.setConfig({ baseUrl: `${SMS_URL}/admin/v1`, auth: () => SMS_ADMIN_TOKEN ?? '' });
const account = await accountCreate({ body: { name: batch, credits: 7 } });
assert.equal(account.data?.data.credits, 7);
const accounts = await accountList({ query: { limit: 1 } });
assert.equal(accounts.data?.data[0]?.name, batch);
const missing = await accountGet({ path: { id: 'acc_none' } });
assert.equal(missing.error?.error.code, 'not_found');
