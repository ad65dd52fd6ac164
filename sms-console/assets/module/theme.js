// Light or dark, at once. The choice is kept in a cookie, so that the server makes the page so.

import { isTypedInto } from './typed.js';

for (const form of document.querySelectorAll('form[data-theme-form]')) {
  if (!(form instanceof HTMLFormElement)) continue;
  form.addEventListener('change', () => choose(form));
  if (isTypedInto(form)) choose(form);
}

/** @param {HTMLFormElement} form */
function choose(form) {
  const chosen = String(new FormData(form).get('theme'));
  const age = chosen === 'system' ? 0 : 365 * 24 * 60 * 60;
  document.cookie = `sms_console_theme=${chosen}; Path=/console; Max-Age=${age}; SameSite=Strict`;
  if (chosen === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = chosen;
}
