// Filters above a list: the list follows while somebody types, and so does the address.

import { swapLive } from './swap.js';
import { isTypedInto } from './typed.js';

const AFTER = 300;
let timer = 0;
/** @type {AbortController | null} */
let asking = null;

document.addEventListener('input', (event) => soon(event.target));
document.addEventListener('change', (event) => soon(event.target));
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.matches('[data-filters]')) return;
  event.preventDefault();
  follow(form);
});

/** @param {EventTarget | null} target */
function soon(target) {
  if (!(target instanceof Element)) return;
  const form = target.closest('form[data-filters]');
  if (!(form instanceof HTMLFormElement)) return;
  clearTimeout(timer);
  timer = window.setTimeout(() => follow(form), AFTER);
}

/** @param {HTMLFormElement} form */
async function follow(form) {
  clearTimeout(timer);
  const url = new URL(form.action);
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && value.trim()) url.searchParams.append(name, value.trim());
  }
  history.replaceState(history.state, '', url.pathname + url.search);
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  try {
    const answer = await fetch(url, { headers: { accept: 'text/html' }, signal: mine.signal });
    if (answer.redirected || !answer.ok) location.assign(url);
    else swapLive(await answer.text());
  } catch {
    // The frame says when the server is away.
  }
}

for (const form of document.querySelectorAll('form[data-filters]')) {
  if (form instanceof HTMLFormElement && isTypedInto(form)) soon(form);
}
