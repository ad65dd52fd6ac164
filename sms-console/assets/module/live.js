// What is live on a page: elements with `data-live` are read again every few seconds while somebody
// looks, and what they show is put in their place. `data-live="2"` says how many seconds.
//
// `data-on="message opt_out.created"` names the events that change an element. It is read again at
// once when one happens, and while the server tells, seldom otherwise.

import { follow, followNow } from './events.js';
import { swapLive } from './swap.js';

const EVERY = 4;
const EVERY_WHILE_TOLD = 60;
/** A campaign makes thousands of events: in milliseconds. */
const AT_MOST_EVERY = 700;

let timer = 0;
let asked = -AT_MOST_EVERY;
let asking = false;
let again = false;
let isTold = false;

/** Reads the page again now. */
export async function liveNow() {
  if (asking) {
    again = true;
    return;
  }
  if (document.visibilityState !== 'visible' || !all().length) return;
  asking = true;
  asked = performance.now();
  const page = location.href;
  try {
    const answer = await fetch(page, {
      headers: { accept: 'text/html' }, redirect: 'follow', cache: 'no-store',
    });
    const url = new URL(answer.url);
    // The page to sign in is a page as well, and nobody is led from it to itself.
    if (answer.redirected && url.pathname === '/console/sign-in') {
      url.searchParams.set('expired', '1');
      location.assign(url);
      return;
    }
    const html = await answer.text();
    // A filter may have changed the address meanwhile, and what the page shows with it.
    if (location.href !== page) again = true;
    else if (answer.ok) swapLive(html);
    reached(answer.status < 500);
  } catch {
    reached(false);
  } finally {
    asking = false;
    if (again) liveSoon();
    else later();
  }
}

/** Reads the page again because something has happened: at once, but not without end. */
function liveSoon() {
  again = asking;
  const rest = asked + AT_MOST_EVERY - performance.now();
  if (asking) return;
  clearTimeout(timer);
  if (rest > 0) timer = window.setTimeout(liveNow, rest);
  else liveNow();
}

/** @returns {HTMLElement[]} */
const all = () => [...document.querySelectorAll('[data-live][id]')]
  .filter((one) => one instanceof HTMLElement);

/** The events that change it, or the first words of their names. @param {HTMLElement} one */
const kindsOf = (one) => (one.dataset.on ?? '').split(' ').filter((kind) => kind);

/** @param {HTMLElement} one */
function secondsOf(one) {
  const seconds = Number(one.dataset.live) || EVERY;
  return isTold && kindsOf(one).length > 0 ? Math.max(seconds, EVERY_WHILE_TOLD) : seconds;
}

function later() {
  clearTimeout(timer);
  const seconds = all().map(secondsOf);
  if (seconds.length > 0) timer = window.setTimeout(liveNow, Math.min(...seconds) * 1000);
}

/** @param {string} kind */
function happened(kind) {
  const isIt = (/** @type {string} */ on) => kind === on || kind.startsWith(`${on}.`);
  if (all().some((one) => kindsOf(one).some(isIt))) liveSoon();
}

/** What happened before the stream was open, or since it ended, is read now. @param {boolean} is */
function followed(is) {
  isTold = is;
  liveSoon();
}

/** Says when the server does not answer. @param {boolean} well */
function reached(well) {
  const place = document.getElementById('offline');
  if (!place || well === !place.hasChildNodes()) return;
  if (well) {
    place.replaceChildren();
    followNow();
    return;
  }
  const strip = document.createElement('div');
  strip.className = 'offline-strip';
  strip.textContent = 'Offline: the server does not answer. This page goes on by itself when it '
    + 'does.';
  place.replaceChildren(strip);
}

// The tab says how many messages are unread, as the navigation does.
document.addEventListener('swapped', (event) => {
  const place = event.target;
  if (!(place instanceof HTMLElement) || place.id !== 'nav-unread') return;
  document.title = (place.dataset.title ?? '') + document.title.replace(/^\(\d+\+?\) /, '');
});

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') liveNow();
});
later();
follow({ happened, followed });
