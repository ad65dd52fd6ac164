// Buttons that copy the text above them, and say beside them what they did.

document.addEventListener('click', async (event) => {
  const target = event.target;
  const button = target instanceof Element ? target.closest('[data-copy]') : null;
  const box = button?.closest('.code');
  const words = box?.querySelector('code');
  const said = box?.querySelector('[role="status"]');
  if (!words || !said) return;
  try {
    await navigator.clipboard.writeText(words.textContent ?? '');
    said.textContent = 'Copied.';
  } catch {
    // Without HTTPS a page may not write to the clipboard.
    getSelection()?.selectAllChildren(words);
    said.textContent = 'Selected: press Ctrl and C to copy.';
  }
});
