// Light or dark: what the system says, unless somebody chose otherwise on this device.

/** @typedef {'system' | 'light' | 'dark'} Theme */

const PLACE = 'console theme';

/** @returns {Theme} */
export function theme() {
  const kept = localStorage.getItem(PLACE);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

/** @param {Theme} chosen */
export function themeChoose(chosen) {
  if (chosen === 'system') localStorage.removeItem(PLACE);
  else localStorage.setItem(PLACE, chosen);
  themeApply();
}

export function themeApply() {
  const chosen = theme();
  if (chosen === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = chosen;
}
