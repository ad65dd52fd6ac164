// A form that is on its way is not sent again by a second click.

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== 'post') return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = 'yes';
  event.submitter?.setAttribute('aria-busy', 'true');
});

// Who goes back to the page may send its forms again.
addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('form[data-sent]')) {
    form.removeAttribute('data-sent');
    for (const button of form.querySelectorAll('[aria-busy]')) button.removeAttribute('aria-busy');
  }
});
