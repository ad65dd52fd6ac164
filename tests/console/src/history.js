// An account with a life: contacts, conversations, a campaign, an endpoint that fails. The names
// are roles, the numbers Ofcom's for drama.

/** @typedef {import('./server.js').Server} Server */

const PEOPLE = [
  ['Front', 'desk', 'frontdesk@example.com', { branch: 'Harbour' }],
  ['Supplier', 'linen', 'linen@example.com', { branch: 'Harbour' }],
  ['Supplier', 'wine', 'wine@example.com', { branch: 'Old Town' }],
  ['Regular', 'guest', null, { table: '12' }],
  ['Window', 'table', null, { table: '4' }],
  ['Night', 'porter', 'porter@example.com', { branch: 'Old Town' }],
  ['Wedding', 'party', 'party@example.com', { guests: '40' }],
  ['Fish', 'market', null, {}],
];

const QUESTIONS = [
  'Could we move the table to half past seven?', 'Is the kitchen open on Sunday?',
  'Thank you, see you on Friday', 'Two more chairs please, and one high chair',
  'Running ten minutes late', 'Do you have anything without gluten?',
];

/** @param {number} index */
const number = (index) => `+447700900${String(100 + index).padStart(3, '0')}`;

/**
 * Fills the demo account.
 * @param {Server} server
 */
export async function historyMake(server) {
  const { api, operator } = server;
  const numbers = (await operator('GET', '/numbers')).data;
  const own = numbers.find((/** @type {any} */ one) => one.account_id)?.phone_number
    ?? numbers[0].phone_number;
  const list = (await api('POST', '/lists', {
    name: 'Regulars', description: 'People who have eaten here twice',
  })).data;
  await api('POST', '/lists', { name: 'Suppliers', description: null });
  const rows = PEOPLE.map(([first_name, last_name, email, custom], index) => ({
    phone: number(index), first_name, last_name, email, custom,
  }));
  const imported = (await api('POST', '/contacts/import', { rows, list_id: list.id })).data;
  await api('POST', '/templates', {
    name: 'Table ready', body: 'Hello {first_name}, your table is ready.',
  });
  await api('POST', '/templates', {
    name: 'Autumn menu', body: 'The autumn menu is here: https://example.com/menu',
  });
  await api('POST', '/keywords', {
    keyword: 'MENU', reply: 'Today: https://example.com/menu', add_to_list_id: list.id,
  });
  const sender = (await api('POST', '/sender-ids', { value: 'Bistro', purpose: 'Bookings' })).data;
  await operator('POST', `/sender-ids/${sender.id}/approve`, {});
  const refused = (await api('POST', '/sender-ids', { value: 'Bank', purpose: 'Offers' })).data;
  await operator('POST', `/sender-ids/${refused.id}/reject`, {
    reason: 'Not the name you trade by',
  });
  await api('POST', '/sender-ids', { value: 'Harbour', purpose: 'Events' });
  await api('POST', '/opt-outs', { phone: number(90), note: 'Asked at the counter' });
  await api('POST', '/messages', {
    to: [number(0), number(3), number(4), '07700 900901', '07700 900902'],
    body: 'Your table for two is booked for 19:30. Reply to change it.', client_ref: 'booking-4711',
  });
  for (const [index, body] of QUESTIONS.entries()) {
    await operator('POST', '/inbound', { from: number(index), to: own, body });
  }
  await api('POST', '/messages', {
    to: number(0), body: 'Of course: 19:30 is yours. See you then.',
  });
  await operator('POST', '/inbound', { from: number(9), to: own, body: 'STOP' });
  await api('POST', '/messages', {
    to: number(1),
    body: 'Twenty tablecloths, please: the delivery can come at any time before ten.',
    schedule_at: new Date(Date.now() + 20 * 3_600_000).toISOString(),
  });
  const campaign = (await api('POST', '/campaigns', {
    name: 'Autumn menu', list_id: list.id, track_links: true, ignore_quiet_hours: true,
    append_opt_out: true, body: 'Hello {first_name}, the autumn menu: https://example.com/menu',
  })).data;
  await api('POST', `/campaigns/${campaign.id}/send`, {});
  await api('POST', '/campaigns', {
    name: 'Winter evenings', list_id: list.id, body: 'Hello {first_name}, winter evenings begin.',
  });
  const links = (await api('GET', '/links')).data;
  for (const link of links.slice(0, 3)) await fetch(link.short_url, { redirect: 'manual' });
  const webhook = (await api('POST', '/webhooks', {
    url: 'http://127.0.0.1:9/hooks', events: ['message.received', 'message.failed'],
    description: 'Bookings',
  })).data;
  await api('POST', '/messages', { to: number(2), body: 'Could you bring twelve of the red?' });
  return { list, campaign, webhook, contacts: imported.rows, own };
}
