// What is live on a page: elements with `data-live` are read again every few seconds while
// somebody looks, and what they show is put in their place. `data-live="2"` says how many seconds.

import { swapLive } from './swap.js';

const EVERY = 4;

let timer = 0;
let asking = false;

/** Reads the page again now. */
export async function liveNow() {
  if (asking || document.visibilityState !== 'visible' || !all().length) return;
  asking = true;
  try {
    const answer = await fetch(location.href, {
      headers: { accept: 'text/html' }, redirect: 'follow', cache: 'no-store',
    });
    const url = new URL(answer.url);
    if (url.pathname === '/console/sign-in') {
      url.searchParams.set('expired', '1');
      location.assign(url);
      return;
    }
    if (answer.ok) swapLive(await answer.text());
    reached(answer.status < 500);
  } catch {
    reached(false);
  } finally {
    asking = false;
    later();
  }
}

/** @returns {HTMLElement[]} */
const all = () => [...document.querySelectorAll('[data-live][id]')]
  .filter((one) => one instanceof HTMLElement);

function later() {
  clearTimeout(timer);
  const seconds = all().map((one) => Number(one.dataset.live) || EVERY);
  if (seconds.length > 0) timer = window.setTimeout(liveNow, Math.min(...seconds) * 1000);
}

/** Says when the server does not answer. @param {boolean} well */
function reached(well) {
  const place = document.getElementById('offline');
  if (!place || well === !place.hasChildNodes()) return;
  if (well) {
    place.replaceChildren();
    return;
  }
  const strip = document.createElement('div');
  strip.className = 'offline-strip';
  strip.textContent = 'Offline: the server does not answer. This page goes on by itself when it '
    + 'does.';
  place.replaceChildren(strip);
}

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') liveNow();
});
later();
