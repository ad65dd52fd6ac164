// Dialogs, where the browser does not open them by `commandfor` itself.

if (!('commandForElement' in HTMLButtonElement.prototype)) {
  document.addEventListener('click', (event) => {
    const target = /** @type {Element} */ (event.target);
    const button = target.closest?.('button[commandfor]');
    if (!button) return;
    const dialog = document.getElementById(button.getAttribute('commandfor') ?? '');
    if (!(dialog instanceof HTMLDialogElement)) return;
    if (button.getAttribute('command') === 'close') dialog.close();
    else dialog.showModal();
  });
}

// A form that came back with what is wrong in it stands in its dialog: `data-open` opens it.
for (const dialog of document.querySelectorAll('dialog[data-open]')) {
  if (!(dialog instanceof HTMLDialogElement)) continue;
  dialog.close();
  dialog.showModal();
}
