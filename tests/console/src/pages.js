// Every page of the console, for tests that look at all of them.

/** @typedef {{list: any, campaign: any, webhook: any, contacts: any[]}} Facts */
/** @typedef {{name: string, path: string, who: 'live' | 'operator' | null}} PageOf */

/**
 * @param {import('./server.js').Server} server
 * @param {Facts} facts
 * @param {string} message
 * @param {string} account
 * @param {string} pending an account that waits for its approval
 * @returns {Promise<PageOf[]>}
 */
export async function everyPage(server, facts, message, account, pending) {
  const [template] = (await server.api('GET', '/templates')).data;
  const [keyword] = (await server.api('GET', '/keywords')).data;
  const draft = (await server.api('POST', '/campaigns', {
    name: facts.list.name, list_id: facts.list.id, body: template.body,
  })).data;
  const contact = facts.contacts[0].contact_id;
  // What a send did is shown under its key.
  const send = { to: '07700 900199', body: template.body };
  await server.api('POST', '/messages', send, { 'Idempotency-Key': 'every-page' });
  /** @param {string} name @param {string} path @returns {PageOf} */
  const people = (name, path) => ({ name, path: `/console${path}`, who: 'live' });
  /** @param {string} name @param {string} path @returns {PageOf} */
  const operator = (name, path) => ({
    name: `operator-${name}`, path: `/console/operator/${path}`, who: 'operator',
  });
  return [
    { name: 'sign-in', path: '/console/sign-in', who: null },
    { name: 'design', path: '/console/design', who: null },
    people('home', ''), people('inbox', '/inbox'),
    people('conversation', '/inbox/%2B447700900100'), people('compose', '/compose'),
    people('compose-sent', '/compose/sent/every-page'),
    people('messages', '/messages'), people('message', `/messages/${message}`),
    people('contacts', '/contacts'), people('contact-new', '/contacts/new'),
    people('contact', `/contacts/${contact}`), people('contact-edit', `/contacts/${contact}/edit`),
    people('import', '/contacts/import'), people('lists', '/lists'),
    people('list-new', '/lists/new'), people('list', `/lists/${facts.list.id}`),
    people('list-edit', `/lists/${facts.list.id}/edit`),
    people('list-people', `/lists/${facts.list.id}/people`), people('campaigns', '/campaigns'),
    people('campaign-draft', '/campaigns/new'),
    people('campaign-edit', `/campaigns/${draft.id}/edit`),
    people('campaign-launch', `/campaigns/${draft.id}/launch`),
    people('campaign', `/campaigns/${facts.campaign.id}`),
    people('templates', '/templates'), people('keywords', '/keywords'),
    people('template-new', '/templates/new'), people('keyword-new', '/keywords/new'),
    people('template', `/templates/${template.id}`), people('keyword', `/keywords/${keyword.id}`),
    people('opt-out-new', '/opt-outs/new'), people('opt-outs-import', '/opt-outs/import'),
    people('sender-new', '/senders/new'),
    people('opt-outs', '/opt-outs'), people('senders', '/senders'), people('links', '/links'),
    people('developers', '/developers'),
    people('webhook', `/developers/webhooks/${facts.webhook.id}`), people('nowhere', '/nowhere'),
    operator('accounts', 'accounts'), operator('account', `accounts/${account}`),
    operator('account-pending', `accounts/${pending}`),
    operator('account-new', 'accounts/new'), operator('top-up', `accounts/${account}/credits`),
    operator('settings', `accounts/${account}/settings`),
    operator('key-new', `accounts/${account}/keys/new`), operator('number-new', 'numbers/new'),
    operator('senders', 'senders'), operator('numbers', 'numbers'),
    operator('unrouted', 'unrouted'), operator('routes', 'routes'), operator('sandbox', 'sandbox'),
  ];
}

/**
 * An account that waits for its approval.
 * @param {import('./server.js').Server} server
 * @param {string} [name]
 * @returns {Promise<string>} its id
 */
export async function pendingAccount(server, name = 'Corner café') {
  return (await server.operator('POST', '/accounts', { name, status: 'pending' })).data.id;
}

/** Waits until a page has shown what it reads. @param {import('playwright-core').Page} page */
export async function pageSettled(page) {
  await page.locator('main h1').first().waitFor({ state: 'attached' });
  await page.waitForFunction(() => (
    document.querySelectorAll('main[aria-busy], main [aria-busy], main .loading').length === 0
    || location.pathname === '/console/design'));
}
