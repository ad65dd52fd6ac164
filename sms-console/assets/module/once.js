// A form that is on its way is not sent again by a second click, and a form that cannot be on its
// way is kept: while the server does not answer, the page stays, with all that was typed.

/** How long the server may take to say that it is there, in milliseconds. */
const LONGEST = 5000;

// After what other modules do with their forms.
addEventListener('submit', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== 'post') return;
  if (event.defaultPrevented) return;
  // A download leaves the page as it is, and can be had again.
  if (form.matches('[data-download]') || event.submitter?.matches('[data-download]')) return;
  event.preventDefault();
  if (form.dataset.sent) return;
  form.dataset.sent = 'yes';
  const button = event.submitter;
  button?.setAttribute('aria-busy', 'true');
  send(form, button instanceof HTMLButtonElement ? button : null);
});

/** @param {HTMLFormElement} form @param {HTMLButtonElement | null} button */
async function send(form, button) {
  for (const one of form.querySelectorAll('.not-sent')) one.remove();
  if (!(await isThere())) {
    again(form);
    keep(form);
    return;
  }
  if (button?.name) {
    const pressed = document.createElement('input');
    Object.assign(pressed, { type: 'hidden', name: button.name, value: button.value });
    pressed.dataset.pressed = 'yes';
    form.append(pressed);
  }
  form.submit();
}

/** Whether the server answers, and not only what stands before it. */
async function isThere() {
  try {
    const signal = AbortSignal.timeout(LONGEST);
    const { status } = await fetch('/readyz', { cache: 'no-store', signal });
    return status < 500;
  } catch {
    return false;
  }
}

/** @param {HTMLFormElement} form */
function keep(form) {
  const place = document.createElement('p');
  place.className = 'not-sent notice notice-bad';
  place.setAttribute('role', 'alert');
  place.textContent = 'Not sent, kept: the server does not answer. Try again in a moment.';
  form.append(place);
}

/** @param {HTMLFormElement} form */
function again(form) {
  form.removeAttribute('data-sent');
  for (const button of form.querySelectorAll('[aria-busy]')) button.removeAttribute('aria-busy');
  for (const pressed of form.querySelectorAll('[data-pressed]')) pressed.remove();
}

// Who goes back to the page may send its forms again.
addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('form[data-sent]')) {
    if (form instanceof HTMLFormElement) again(form);
  }
});
