// Starts the console: asks who is signed in, then shows the page of the address.

import { Refused, connect, get } from './api.js';
import { h, replace } from './dom.js';
import { live, reachTold } from './live.js';
import { toastError } from './part/notice.js';
import { failed, loading } from './part/state.js';
import { ACCOUNT_PLACES, OPEN_PLACES } from './places.js';
import { placeOf, redirect, reload, start } from './router.js';
import {
  owner, session, sessionExpired, sessionRead, signOut, signedIn, signedInElsewhere,
} from './session.js';
import { shell } from './shell.js';
import { themeApply } from './theme.js';
import { unreadRead, unreadTold } from './unread.js';

/** @typedef {import('./router.js').Page} Page */

const RELOADED = 'reloaded for a new version';
const root = /** @type {HTMLElement} */ (document.getElementById('console'));
const toasts = h('div', { class: 'toasts', id: 'toasts', role: 'status' });

/** @type {import('./shell.js').Shell | null} */
let frame = null;
let framedFor = '';
/** @type {AbortController | null} */
let leaving = null;
/** @type {AbortController | null} */
let counting = null;
let offlineSince = false;

/** @param {boolean} reached */
function reached(reached) {
  frame?.reach(reached);
  if (!reached && !offlineSince) probe();
  offlineSince = !reached;
}

/** Asks until the server answers again. */
function probe() {
  setTimeout(async () => {
    if (!offlineSince) return;
    await get('/v1/openapi.json').catch(() => {});
    if (offlineSince) probe();
  }, 2000);
}

/**
 * Another tab may have signed in as somebody else: then this page is not theirs, and nothing that
 * was asked for here may be done as them.
 */
async function sessionRenew() {
  const before = owner();
  await sessionRead();
  if (owner() === before) return;
  sessionExpired();
  location.reload();
  throw new Refused(401, 'signed_in_elsewhere',
    'Another tab has signed in as somebody else. Nothing was done.', null);
}

function expired() {
  if (!signedIn()) return;
  sessionExpired();
  const back = location.pathname + location.search;
  redirect(`/console/sign-in?${new URLSearchParams({ next: back, expired: '1' })}`);
}

async function leave() {
  try {
    await signOut();
  } catch (error) {
    toastError(error);
    return;
  }
  redirect('/console/sign-in');
}

/** The frame of whoever is signed in. Somebody else gets a new one. */
function framed() {
  if (frame && framedFor === owner()) return frame;
  frame = shell(leave);
  framedFor = owner();
  replace(root, frame.element, toasts);
  counting?.abort();
  if (session().kind === 'account') {
    counting = new AbortController();
    unreadRead();
    live(counting.signal, (happened) => {
      if (happened.has('message.received') || happened.has('any')) unreadRead();
    });
  }
  return frame;
}

function unframed() {
  counting?.abort();
  counting = null;
  frame = null;
  const main = h('main', { id: 'main', tabindex: '-1' });
  replace(root, main, toasts);
  return main;
}

async function show() {
  leaving?.abort();
  // A page that is left takes its dialogs with it.
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
  const mine = new AbortController();
  leaving = mine;
  const url = new URL(location.href);
  const open = placeOf(OPEN_PLACES, url.pathname);
  if (!signedIn() && !open) {
    const back = url.pathname + url.search;
    redirect(`/console/sign-in?${new URLSearchParams({ next: back })}`);
    return;
  }
  const operator = signedIn() && session().kind === 'operator';
  if (operator && url.pathname === '/console') {
    redirect('/console/operator/accounts');
    return;
  }
  const places = !signedIn() || open || operator ? [] : ACCOUNT_PLACES;
  const found = open ?? placeOf(places, url.pathname);
  const main = signedIn() ? framed().main : unframed();
  frame?.mark(url.pathname);
  frame?.close();
  main.setAttribute('aria-busy', 'true');
  const slow = setTimeout(() => replace(main, loading()), 250);
  try {
    const module = found && await moduleOf(found.place);
    // A page that was left while its module came is not begun: nothing would end it.
    if (mine.signal.aborted) return;
    const page = module
      ? await module.page({ url, params: found.params, signal: mine.signal }) : nowhere();
    if (!mine.signal.aborted) put(main, page);
  } catch (error) {
    if (!mine.signal.aborted) replace(main, failed(error, reload));
  } finally {
    clearTimeout(slow);
    if (!mine.signal.aborted) main.removeAttribute('aria-busy');
  }
}

/**
 * The module of a page. After an update the files of the old version are gone: the page is loaded
 * again, once.
 * @param {import('./router.js').Place} place
 */
async function moduleOf(place) {
  try {
    const loaded = await place.load();
    sessionStorage.removeItem(RELOADED);
    return loaded;
  } catch (error) {
    // Says so when it is the server that is away.
    await get('/v1/openapi.json');
    if (!sessionStorage.getItem(RELOADED)) {
      sessionStorage.setItem(RELOADED, 'yes');
      location.reload();
    }
    throw error;
  }
}

/**
 * @param {HTMLElement} main
 * @param {Page} page
 */
function put(main, page) {
  main.className = page.wide ? 'page page-wide' : 'page';
  replace(main, page.content);
  document.title = `${page.title} · SMS console`;
  scrollTo(0, 0);
  // A heading that is still being read gets the focus when it comes: `loaded` hands it on.
  const first = main.querySelector('[data-focus]') ?? main.querySelector('h1') ?? main;
  if (first instanceof HTMLElement) first.focus({ preventScroll: true });
}

/** @returns {Page} */
function nowhere() {
  return {
    title: 'No such page',
    content: h('div', { class: 'state' }, h('h1', { tabindex: '-1' }, 'No such page'),
      h('p', null, 'The address is wrong, or it is a page for somebody else. ',
        h('a', { href: '/console' }, 'Go to the first page'), '.')),
  };
}

async function begin() {
  themeApply();
  connect({ onExpired: expired, onReach: reached, renew: sessionRenew });
  reachTold(reached);
  unreadTold((count) => frame?.unread(count));
  signedInElsewhere(() => signedIn() && sessionRenew().catch(() => {}));
  try {
    await sessionRead();
  } catch (error) {
    if (!(error instanceof Refused && error.status === 401)) {
      replace(root, failed(error, begin));
      return;
    }
  }
  start(show, (path) => [ACCOUNT_PLACES, OPEN_PLACES]
    .some((places) => placeOf(places, path)));
}

begin();
