// What a form for a message does besides: merge fields are put where the cursor is, Ctrl and Enter
// sends, and a choice that a button carries out is carried out at once.

document.addEventListener('click', (event) => {
  const target = event.target;
  const button = target instanceof Element ? target.closest('button[data-insert]') : null;
  if (!(button instanceof HTMLButtonElement)) return;
  const box = button.form?.querySelector('textarea[name="body"]');
  if (!(box instanceof HTMLTextAreaElement)) return;
  box.setRangeText(button.dataset.insert ?? '', box.selectionStart, box.selectionEnd, 'end');
  box.dispatchEvent(new Event('input', { bubbles: true }));
  box.focus();
});

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  const box = event.target;
  if (!(box instanceof HTMLTextAreaElement) || !box.form?.matches('[data-send-keys]')) return;
  event.preventDefault();
  box.form.requestSubmit();
});

document.addEventListener('change', (event) => {
  const target = event.target;
  const place = target instanceof Element ? target.closest('[data-presses]') : null;
  if (!(place instanceof HTMLElement)) return;
  document.getElementById(place.dataset.presses ?? '')?.click();
});

// A box of one line grows with what is written. Chromium does so by itself.
if (!CSS.supports('field-sizing', 'content')) {
  document.addEventListener('input', (event) => {
    const box = event.target;
    if (!(box instanceof HTMLTextAreaElement) || box.rows !== 1) return;
    box.style.height = 'auto';
    box.style.height = `${box.scrollHeight + 2}px`;
  });
}
