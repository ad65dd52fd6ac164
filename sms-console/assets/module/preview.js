// What a form would do, while somebody fills it in: `<form data-preview="/console/…"
// data-preview-into="preview">` is sent there 300 ms after the last change, and the fragment that
// comes back is put into the element of that id.

const AFTER = 300;

/** @type {WeakMap<HTMLFormElement, {timer: number, asking: AbortController | null}>} */
const states = new WeakMap();

/** @param {EventTarget | null} target */
function changed(target) {
  if (!(target instanceof Element)) return;
  const form = target.closest('form[data-preview]');
  if (!(form instanceof HTMLFormElement)) return;
  previewSoon(form);
}

/** @param {HTMLFormElement} form */
export function previewSoon(form) {
  const state = states.get(form) ?? { timer: 0, asking: null };
  states.set(form, state);
  clearTimeout(state.timer);
  state.timer = window.setTimeout(() => preview(form, state), AFTER);
}

/**
 * @param {HTMLFormElement} form
 * @param {{timer: number, asking: AbortController | null}} state
 */
async function preview(form, state) {
  const place = document.getElementById(form.dataset.previewInto ?? '');
  if (!place) return;
  state.asking?.abort();
  const mine = new AbortController();
  state.asking = mine;
  /** @type {[string, string][]} */
  const fields = [];
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string') fields.push([name, value]);
  }
  try {
    const answer = await fetch(form.dataset.preview ?? '', {
      method: 'POST', body: new URLSearchParams(fields), signal: mine.signal,
    });
    if (new URL(answer.url).pathname === '/console/sign-in') return;
    if (!answer.ok) throw new Error('no preview');
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    if (mine.signal.aborted) return;
    place.replaceChildren(...fresh.body.childNodes);
    place.dispatchEvent(new CustomEvent('previewed', { bubbles: true }));
  } catch {
    if (!mine.signal.aborted) place.textContent = 'No price yet: the server does not answer.';
  }
}

document.addEventListener('input', (event) => changed(event.target));
document.addEventListener('change', (event) => changed(event.target));
