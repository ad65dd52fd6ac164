// Makes elements. Text only ever becomes text nodes: nothing here parses HTML, so no text of a
// message or a contact can become markup.

/** @typedef {Node | string | number | null | undefined | false | Children} Child */
/** @typedef {Child[]} Children */
/** @typedef {Record<string, unknown>} Props */

const SVG = 'http://www.w3.org/2000/svg';
const PROPERTIES = new Set(['value', 'checked', 'disabled', 'selected', 'indeterminate', 'open']);
const REFUSED = new Set(['innerHTML', 'outerHTML', 'srcdoc', 'style']);
const ADDRESS = /^(https?:\/\/|\/(?![/\\])|#|\?|blob:|$)/;

/**
 * Makes an element. `onclick` and the like are listeners, `class` and `aria-…` are attributes,
 * and a value of `null`, `undefined` or `false` leaves the attribute out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  fill(element, props ?? {}, children);
  return element;
}

/**
 * Makes an SVG element.
 * @param {string} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, props, ...children) {
  const element = document.createElementNS(SVG, tag);
  fill(element, props ?? {}, children);
  return element;
}

/**
 * @param {HTMLElement | SVGElement} element
 * @param {Props} props
 * @param {Children} children
 */
function fill(element, props, children) {
  // The value of a <select> can be set only when its options are there.
  append(element, children);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (REFUSED.has(name)) throw new Error(`${name} cannot be set`);
    if (name === 'href' && !ADDRESS.test(String(value))) continue;
    if (name.startsWith('on')) {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (PROPERTIES.has(name)) {
      Reflect.set(element, name, value);
    } else {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
}

/**
 * @param {Node} parent
 * @param {Child} child
 */
export function append(parent, child) {
  if (Array.isArray(child)) {
    for (const one of child) append(parent, one);
  } else if (child instanceof Node) {
    parent.appendChild(child);
  } else if (child !== null && child !== undefined && child !== false) {
    parent.appendChild(document.createTextNode(String(child)));
  }
}

/**
 * Puts new children in the place of the old ones.
 * @param {Element} parent
 * @param {...Child} children
 */
export function replace(parent, ...children) {
  const fragment = document.createDocumentFragment();
  append(fragment, children);
  parent.replaceChildren(fragment);
}

/**
 * Puts new children in the place of the old ones, and the focus on the one that stands for the one
 * that had it; where none does, on the page's heading. What was unfolded stays so.
 * @param {Element} parent
 * @param {...Child} children
 */
export function replaceKeepingFocus(parent, ...children) {
  const had = document.activeElement;
  const mark = had && parent.contains(had) ? markOf(had) : null;
  const unfolded = new Set([...parent.querySelectorAll('details[open] > summary')]
    .map((one) => one.textContent ?? ''));
  replace(parent, ...children);
  for (const folded of parent.querySelectorAll('details')) {
    if (unfolded.has(folded.querySelector('summary')?.textContent ?? '')) folded.open = true;
  }
  if (!mark) return;
  const heir = [...parent.querySelectorAll(mark.tag)].find((one) => markOf(one).text === mark.text)
    ?? document.querySelector('main h1');
  if (heir instanceof HTMLElement) heir.focus({ preventScroll: true });
}

/** @param {Element} element */
function markOf(element) {
  const text = element.getAttribute('href') ?? element.getAttribute('aria-label')
    ?? element.getAttribute('name') ?? element.textContent;
  return { tag: element.tagName, text };
}

let ids = 0;
/**
 * An id that no other element of the page has.
 * @param {string} prefix
 */
export function uniqueId(prefix) {
  ids += 1;
  return `${prefix}-${ids}`;
}

/**
 * Calls `action` once, `delay` milliseconds after the last call.
 * @template {unknown[]} A
 * @param {number} delay
 * @param {(...args: A) => void} action
 * @returns {(...args: A) => void}
 */
export function debounced(delay, action) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => action(...args), delay);
  };
}
