// Light or dark: what the system says, unless somebody chose otherwise on this device.

/** @typedef {'system' | 'light' | 'dark'} Theme */

const NAME = 'sms_console_theme';

/** @returns {Theme} */
export function theme() {
  const kept = new RegExp(`(?:^|; )${NAME}=(\\w+)`).exec(document.cookie)?.[1];
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

/** @param {Theme} chosen */
export function themeChoose(chosen) {
  const age = chosen === 'system' ? 0 : 365 * 24 * 60 * 60;
  document.cookie = `${NAME}=${chosen}; Path=/console; Max-Age=${age}; SameSite=Strict`;
  themeApply();
}

export function themeApply() {
  const chosen = theme();
  if (chosen === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = chosen;
}
