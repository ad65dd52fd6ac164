// Puts the fresh parts of a page in the place of the old ones.

/** Longer than anybody presses a button, in milliseconds. */
const LONGEST_PRESS = 2000;

let pressed = -LONGEST_PRESS;
/** @type {{ html: string, page: string } | null} */
let waiting = null;
let timer = 0;

/**
 * Swaps every element with `data-live` for the one of the same id in `html`. Nothing is swapped
 * under somebody who writes in it, and nothing that has not changed. While something is pressed,
 * all of it waits: what is swapped between press and release gets no click. It waits for the longest
 * press at most, because the end of a press may never be seen.
 * @param {string} html the whole page
 */
export function swapLive(html) {
  clearTimeout(timer);
  const rest = pressed + LONGEST_PRESS - performance.now();
  if (rest > 0) {
    waiting = { html, page: location.href };
    timer = window.setTimeout(swapHeld, rest);
    return;
  }
  // What waited is older.
  waiting = null;
  const fresh = new DOMParser().parseFromString(html, 'text/html');
  for (const old of document.querySelectorAll('[data-live][id]')) {
    const next = fresh.getElementById(old.id);
    if (next && !isWrittenIn(old)) swap(old, next);
  }
}

function swapHeld() {
  const held = waiting;
  waiting = null;
  if (held && held.page === location.href) swapLive(held.html);
}

addEventListener('pointerdown', () => { pressed = performance.now(); }, { capture: true });
for (const end of ['pointerup', 'pointercancel']) {
  addEventListener(end, () => {
    pressed = -LONGEST_PRESS;
    // The click comes first.
    setTimeout(swapHeld);
  }, { capture: true });
}

/** @param {Element} element */
function isWrittenIn(element) {
  const { activeElement } = document;
  return !!activeElement && element.contains(activeElement)
    && activeElement.matches('input:not([type="checkbox"]):not([type="radio"]), textarea, select');
}

/**
 * Keeps the focus on what stands for the one that had it, and open what was unfolded.
 * @param {Element} old
 * @param {Element} next
 */
function swap(old, next) {
  if (next.querySelector('dialog') && old.querySelector('dialog[open]')) return;
  if (sameAs(old, next)) return;
  putInto(old, next.childNodes);
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) old.setAttribute(name, value);
  old.dispatchEvent(new CustomEvent('swapped', { bubbles: true }));
}

/**
 * Puts fresh nodes into a place. The focus goes to what stands for the element that had it, and
 * what was unfolded stays so.
 * @param {Element} place
 * @param {NodeListOf<ChildNode>} nodes
 */
export function putInto(place, nodes) {
  const had = document.activeElement;
  const mark = had && had !== place && place.contains(had) ? markOf(had) : null;
  const unfolded = new Set([...place.querySelectorAll('details[open] > summary')]
    .map((one) => one.textContent ?? ''));
  place.replaceChildren(...nodes);
  for (const folded of place.querySelectorAll('details')) {
    if (unfolded.has(folded.querySelector('summary')?.textContent ?? '')) folded.open = true;
  }
  if (!mark) return;
  const heir = [...place.querySelectorAll(mark.tag)].find((one) => markOf(one).text === mark.text)
    ?? document.querySelector('main h1');
  if (heir instanceof HTMLElement) heir.focus({ preventScroll: true });
}

/**
 * Whether both show the same. What scripts have unfolded makes no difference, nor do the keys of
 * forms, which are new in each page.
 * @param {Element} old
 * @param {Element} next
 */
function sameAs(old, next) {
  const plain = (/** @type {Element} */ element) => {
    const copy = /** @type {Element} */ (element.cloneNode(true));
    for (const folded of copy.querySelectorAll('details')) folded.removeAttribute('open');
    for (const key of copy.querySelectorAll('input[name="key"]')) key.removeAttribute('value');
    return copy.outerHTML;
  };
  return plain(old) === plain(next);
}

/** @param {Element} element */
function markOf(element) {
  const text = element.getAttribute('href') ?? element.getAttribute('aria-label')
    ?? element.getAttribute('name') ?? element.textContent;
  return { tag: element.tagName, text };
}
