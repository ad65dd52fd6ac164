// Whether somebody has filled in a form before the modules of its page were there.

/** @param {HTMLFormElement} form */
export const isTypedInto = (form) => [...form.elements].some(isChanged);

/** @param {Element} control */
function isChanged(control) {
  if (control instanceof HTMLSelectElement) {
    const first = [...control.options].findIndex((one) => one.defaultSelected);
    return control.selectedIndex !== Math.max(first, 0);
  }
  if (control instanceof HTMLTextAreaElement) return control.value !== control.defaultValue;
  if (!(control instanceof HTMLInputElement) || control.type === 'hidden') return false;
  // A box without a value says “on”, and has no such value at first.
  return ['checkbox', 'radio'].includes(control.type)
    ? control.checked !== control.defaultChecked : control.value !== control.defaultValue;
}
