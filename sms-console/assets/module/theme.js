// Light or dark, at once. The choice is kept in a cookie, so that the server makes the page so.

for (const form of document.querySelectorAll('form[data-theme-form]')) {
  form.addEventListener('change', (event) => {
    const chosen = /** @type {HTMLSelectElement} */ (event.target).value;
    const age = chosen === 'system' ? 0 : 365 * 24 * 60 * 60;
    document.cookie = `sms_console_theme=${chosen}; Path=/console; Max-Age=${age}; SameSite=Strict`;
    if (chosen === 'system') document.documentElement.removeAttribute('data-theme');
    else document.documentElement.dataset.theme = chosen;
  });
}
