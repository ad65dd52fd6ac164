// What a form would do, while somebody fills it in: `<form data-preview="/console/…"
// data-preview-into="preview">` is sent there 300 ms after the last change, and the fragment that
// comes back is put into the element of that id. Parts of it with `data-region` go into the elements
// of the ids that they name instead.
//
// A button with `data-quiet` does its work in the same way, without leaving the page.
// `data-clears` names a field that is emptied then, and `data-focuses` one that gets the focus. An
// answer may come late: it takes neither the focus nor a text from somebody who has gone on.

import { putInto } from './swap.js';
import { isTypedInto } from './typed.js';

const AFTER = 300;

/**
 * @typedef {object} State
 * @property {number} timer
 * @property {AbortController | null} asking
 * @property {boolean} pressing while a button works, nothing else is asked
 * @property {boolean} changed something was typed meanwhile
 */

/** @type {WeakMap<HTMLFormElement, State>} */
const states = new WeakMap();

/** @param {HTMLFormElement} form */
function stateOf(form) {
  const state = states.get(form) ?? { timer: 0, asking: null, pressing: false, changed: false };
  states.set(form, state);
  return state;
}

/** @param {EventTarget | null} target */
function changed(target) {
  if (!(target instanceof Element)) return;
  // A field may stand elsewhere than in its form.
  const form = target instanceof HTMLFormElement ? target : Reflect.get(target, 'form');
  if (form instanceof HTMLFormElement && form.matches('[data-preview]')) previewSoon(form);
}

/** @param {HTMLFormElement} form */
export function previewSoon(form) {
  const state = stateOf(form);
  clearTimeout(state.timer);
  // What is under way knows nothing of the change, and would undo it in the parts it brings.
  state.asking?.abort();
  state.timer = window.setTimeout(() => preview(form, state), AFTER);
}

/** @param {HTMLFormElement} form @param {State} state */
async function preview(form, state) {
  if (state.pressing) {
    state.changed = true;
    return;
  }
  state.asking?.abort();
  const mine = new AbortController();
  state.asking = mine;
  const asked = new FormData(form);
  try {
    const fragment = await ask(form, asked, mine.signal);
    if (fragment && !mine.signal.aborted) show(form, asked, fragment);
  } catch {
    if (!mine.signal.aborted) unanswered(form);
  }
}

/** @param {HTMLFormElement} form @param {HTMLButtonElement} button */
async function press(form, button) {
  const state = stateOf(form);
  if (state.pressing) return;
  clearTimeout(state.timer);
  state.asking?.abort();
  state.pressing = true;
  const asked = new FormData(form, button);
  const focused = document.activeElement;
  try {
    const fragment = await ask(form, asked, undefined);
    if (fragment) done(form, button, { asked, focused, fragment });
    // The page says what is wrong.
    else form.requestSubmit(button);
  } catch {
    unanswered(form);
  }
  state.pressing = false;
  if (state.changed) previewSoon(form);
  state.changed = false;
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLButtonElement} button
 * @param {{ asked: FormData, focused: Element | null, fragment: Document }} answer what was sent,
 *   what had the focus then, and what came back
 */
function done(form, button, { asked, focused, fragment }) {
  const { clears = '', focuses = clears } = button.dataset;
  const hasGoneOn = ![focused, document.body].includes(document.activeElement);
  show(form, asked, fragment);
  const emptied = form.elements.namedItem(clears);
  if (emptied instanceof HTMLInputElement && isAsSent(emptied, asked)) emptied.value = '';
  if (hasGoneOn) return;
  const next = form.elements.namedItem(focuses);
  if (next instanceof HTMLElement) next.focus();
  if (next instanceof HTMLTextAreaElement) next.setSelectionRange(next.textLength, next.textLength);
}

/** @param {HTMLInputElement | HTMLTextAreaElement} field @param {FormData} asked */
const isAsSent = (field, asked) => asked.get(field.name) === field.value;

/**
 * The fragment; `null` if the server refuses.
 * @param {HTMLFormElement} form
 * @param {FormData} asked
 * @param {AbortSignal | undefined} signal
 */
async function ask(form, asked, signal) {
  const fields = new URLSearchParams();
  for (const [name, value] of asked) {
    if (typeof value === 'string') fields.append(name, value);
  }
  const answer = await fetch(form.dataset.preview ?? '', { method: 'POST', body: fields, signal });
  const { pathname } = new URL(answer.url);
  if (!answer.ok || pathname === '/console/sign-in') return null;
  return new DOMParser().parseFromString(await answer.text(), 'text/html');
}

/** @param {HTMLFormElement} form @param {FormData} asked @param {Document} fragment */
function show(form, asked, fragment) {
  const regions = fragment.querySelectorAll('[data-region]');
  for (const region of regions) {
    const place = document.getElementById(region.getAttribute('data-region') ?? '');
    if (place && isNews(place, region, asked)) putInto(place, region.childNodes);
  }
  const place = placeOf(form);
  if (regions.length === 0) place?.replaceChildren(...fragment.body.childNodes);
  form.dispatchEvent(new Event('previewed', { bubbles: true }));
}

/**
 * Whether a part is put into its place. A box is put there anew even if it began with the same text,
 * because somebody has written in it; unless they wrote in it since.
 * @param {Element} place @param {Element} region @param {FormData} asked
 */
function isNews(place, region, asked) {
  const box = place.querySelector('textarea');
  return box ? isAsSent(box, asked) : place.innerHTML !== region.innerHTML;
}

/** @param {HTMLFormElement} form */
const placeOf = (form) => document.getElementById(form.dataset.previewInto ?? '');

/** @param {HTMLFormElement} form */
function unanswered(form) {
  const place = placeOf(form);
  if (place) place.textContent = 'No price yet: the server is not answering.';
}

for (const form of document.querySelectorAll('form[data-preview]')) {
  if (form instanceof HTMLFormElement && isTypedInto(form)) previewSoon(form);
}
document.addEventListener('input', (event) => changed(event.target));
document.addEventListener('change', (event) => changed(event.target));
document.addEventListener('click', (event) => {
  const target = event.target;
  const button = target instanceof Element ? target.closest('button[data-quiet]') : null;
  if (!(button instanceof HTMLButtonElement) || !button.form?.dataset.preview) return;
  event.preventDefault();
  press(button.form, button);
});
