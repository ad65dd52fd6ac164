// The scenario with openapi-generator's typescript-fetch.
import assert from 'node:assert/strict';
import {
  CampaignsApi, Configuration, ContactsApi, ListsApi, MessagesApi, ResponseError,
} from '../build/openapi-generator/typescript-api/index.js';
import {
  AccountsApi, Configuration as OperatorConfiguration,
} from '../build/openapi-generator/typescript-operator/index.js';

const { SMS_URL, SMS_KEY, SMS_ADMIN_TOKEN } = process.env;
const config = new Configuration({ basePath: `${SMS_URL}/api/v1`, accessToken: SMS_KEY ?? '' });
const messages = new MessagesApi(config);
const contacts = new ContactsApi(config);
const lists = new ListsApi(config);
const campaigns = new CampaignsApi(config);

// Send.
const batch = 'openapi-generator-typescript';
const to = ['07700 900190', '07700 900191', '07700 900192', '07700 900193', '07700 900194'];
const sent = await messages.messageSend({
  idempotencyKey: batch,
  sendRequest: { to, body: 'Hello', clientRef: batch },
});
assert.equal(sent.data.messages.length, 5);
assert.equal(sent.meta.credits, 5);

// List all pages.
const ids = new Set<string>();
let cursor: string | null | undefined;
do {
  const page = await messages.messageList({
    clientRef: batch, limit: 2, ...(cursor ? { cursor } : {}),
  });
  for (const message of page.data) ids.add(message.id);
  cursor = page.meta.nextCursor;
} while (cursor);
assert.equal(ids.size, 5);

// Create a contact.
const contactInput = { phone: '07700 900195', firstName: 'Sam' };
const contact = await contacts.contactCreate({ contactInput });

// Launch a campaign.
const list = await lists.listCreate({ listInput: { name: batch } });
const listId = list.data.id;
await lists.listAdd({ id: listId, listContactsInput: { contactIds: [contact.data.id] } });
const draft = await campaigns.campaignCreate({
  campaignInput: { name: batch, body: 'Hi {first_name}', listId, ignoreQuietHours: true },
});
const launched = await campaigns.campaignSend({ id: draft.data.id });
assert.equal(launched.data.recipients, 1);

// Read an error's code.
const twice = await contacts.contactCreate({ contactInput }).catch((error: unknown) => error);
assert(twice instanceof ResponseError);
assert.equal((await twice.response.json()).error.code, 'contact_exists');

// The operator's API.
const accounts = new AccountsApi(new OperatorConfiguration({
  basePath: `${SMS_URL}/admin/v1`,
  accessToken: SMS_ADMIN_TOKEN ?? '',
}));
const account = await accounts.accountCreate({ accountInput: { name: batch, credits: 7 } });
assert.equal(account.data.credits, 7);
assert.equal((await accounts.accountList({ limit: 1 })).data[0]?.name, batch);
