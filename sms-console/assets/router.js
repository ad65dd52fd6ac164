// Which page an address shows. Filters are part of the address, so that links can be shared.

/**
 * What a page is given. `signal` ends when the page is left.
 * @typedef {object} View
 * @property {URL} url
 * @property {Record<string, string>} params
 * @property {AbortSignal} signal
 */

/**
 * @typedef {object} Page
 * @property {string} title
 * @property {import('./dom.js').Child} content
 * @property {boolean} [wide] uses the whole width
 */

/** @typedef {{page: (view: View) => Page | Promise<Page>}} PageModule */

/**
 * @typedef {object} Place
 * @property {string} path with `:name` for what varies
 * @property {() => Promise<PageModule>} load
 */

/**
 * Finds the place of an address.
 * @param {Place[]} places
 * @param {string} pathname
 */
export function placeOf(places, pathname) {
  const wanted = split(pathname);
  for (const place of places) {
    const params = match(split(place.path), wanted);
    if (params) return { place, params };
  }
  return null;
}

/** @param {string} path */
const split = (path) => path.split('/').filter(Boolean);

/**
 * @param {string[]} pattern
 * @param {string[]} path
 * @returns {Record<string, string> | null}
 */
function match(pattern, path) {
  if (pattern.length !== path.length) return null;
  /** @type {Record<string, string>} */
  const params = {};
  for (const [index, part] of pattern.entries()) {
    if (part.startsWith(':')) params[part.slice(1)] = decoded(path[index]);
    else if (part !== path[index]) return null;
  }
  return params;
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @type {() => void} */
let show = () => {};
/** @type {(pathname: string) => boolean} */
let shows = () => false;

/**
 * Shows pages from now on: at the start, on links, and when people go back.
 * @param {() => void} shown
 * @param {(pathname: string) => boolean} has whether there is a place at a path: the browser loads
 *   what has none
 */
export function start(shown, has) {
  show = shown;
  shows = has;
  addEventListener('popstate', () => show());
  document.addEventListener('click', onClick);
  show();
}

/** @param {MouseEvent} event */
function onClick(event) {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = /** @type {Element} */ (event.target).closest?.('a[href]');
  if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute('download')) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !url.pathname.startsWith('/console')) return;
  if (!shows(url.pathname)) return;
  event.preventDefault();
  if (url.hash && url.pathname === location.pathname) {
    // The link that skips the navigation moves the focus, and leaves the address as it is.
    document.getElementById(url.hash.slice(1))?.focus();
    return;
  }
  navigate(url.pathname + url.search);
}

/** Whether the browser loads this page, because it has no place here. @param {string} address */
function loaded(address) {
  const elsewhere = !shows(new URL(address, location.href).pathname);
  if (elsewhere) location.assign(address);
  return elsewhere;
}

/** Goes to a page. @param {string} address */
export function navigate(address) {
  if (loaded(address)) return;
  history.pushState(null, '', address);
  show();
}

/** Goes to a page in the place of this one. @param {string} address */
export function redirect(address) {
  if (loaded(address)) return;
  history.replaceState(null, '', address);
  show();
}

/** Shows the same page again. */
export function reload() {
  show();
}

/**
 * Puts filters into the address without leaving the page.
 * @param {Record<string, string>} filters
 */
export function setFilters(filters) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(filters)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  history.replaceState(null, '', url.pathname + url.search);
}
