// Every page of the console: its address, its module, and its place in the navigation.

/** @typedef {import('./router.js').Place} Place */
/** @typedef {{title: string, items: {text: string, href: string, icon: string}[]}} Group */

/** @type {Place[]} */
export const ACCOUNT_PLACES = [
];

/** @type {Place[]} */
export const OPEN_PLACES = [
];

/** @type {Group[]} */
export const ACCOUNT_NAV = [
  { title: '', items: [
    { text: 'Home', href: '/console', icon: 'home' },
    { text: 'Inbox', href: '/console/inbox', icon: 'inbox' },
    { text: 'Compose', href: '/console/compose', icon: 'compose' },
    { text: 'Messages', href: '/console/messages', icon: 'messages' },
  ] },
  { title: 'People', items: [
    { text: 'Contacts', href: '/console/contacts', icon: 'contacts' },
    { text: 'Lists', href: '/console/lists', icon: 'lists' },
    { text: 'Opt-outs', href: '/console/opt-outs', icon: 'optouts' },
  ] },
  { title: 'Sending', items: [
    { text: 'Campaigns', href: '/console/campaigns', icon: 'campaigns' },
    { text: 'Templates', href: '/console/templates', icon: 'templates' },
    { text: 'Keywords', href: '/console/keywords', icon: 'keywords' },
    { text: 'Sender names', href: '/console/senders', icon: 'senders' },
    { text: 'Tracked links', href: '/console/links', icon: 'links' },
  ] },
  { title: 'Build', items: [
    { text: 'Developers', href: '/console/developers', icon: 'developers' },
  ] },
];

/** @type {Group[]} */
export const OPERATOR_NAV = [
  { title: 'Operator', items: [
    { text: 'Accounts', href: '/console/operator/accounts', icon: 'accounts' },
    { text: 'Sender review', href: '/console/operator/senders', icon: 'senders' },
    { text: 'Numbers', href: '/console/operator/numbers', icon: 'numbers' },
    { text: 'Unrouted messages', href: '/console/operator/unrouted', icon: 'unrouted' },
    { text: 'Routes', href: '/console/operator/routes', icon: 'routes' },
    { text: 'Sandbox', href: '/console/operator/sandbox', icon: 'sandbox' },
  ] },
];
