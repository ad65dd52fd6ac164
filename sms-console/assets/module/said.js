// A page that answers a form gets an address of its own, so that a reload does not send the form
// again. What the page says once goes after a while, and out of the address at once: a reload says
// nothing again.

const STAYS = 6000;

const { address } = document.body.dataset;
if (address) history.replaceState(history.state, '', address);

const url = new URL(location.href);
if (url.searchParams.has('said')) {
  url.searchParams.delete('said');
  history.replaceState(history.state, '', url.pathname + url.search + url.hash);
  const place = document.getElementById('toasts');
  const words = place?.textContent ?? '';
  // Put there again, because screen readers read what comes and not what is there at first.
  if (place) {
    place.replaceChildren();
    say(words);
  }
}

/** Says briefly what was done. @param {string} words */
export function say(words) {
  const place = document.getElementById('toasts');
  if (!place || !words) return;
  const element = document.createElement('div');
  element.className = 'toast';
  element.textContent = words;
  place.append(element);
  setTimeout(() => element.remove(), STAYS);
}
