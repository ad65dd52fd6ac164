// Text to be copied: a request, a secret that is shown once.

import { h, replace } from '../dom.js';
import { button } from './button.js';

/**
 * @param {string} label
 * @param {string} text
 */
export function code(label, text) {
  const words = h('code', null, text);
  // Beside the button: what is said outside an open dialog is behind it.
  const said = h('span', { class: 'small', role: 'status' });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      replace(said, 'Copied.');
    } catch {
      // Without HTTPS a page may not write to the clipboard.
      getSelection()?.selectAllChildren(words);
      replace(said, 'Selected: press Ctrl and C to copy.');
    }
  };
  return h('div', { class: 'code' },
    h('pre', { tabindex: '0', role: 'group', 'aria-label': label }, words),
    h('div', { class: 'actions' },
      button('Copy', copy, { small: true, label: `Copy: ${label}` }), said));
}

/**
 * A request to the API as a command for a shell.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
export function curl(method, path, body) {
  const lines = [
    `curl -s ${method === 'GET' ? '' : `-X ${method} `}'${location.origin}/api${path}'`,
    "-H 'Authorization: Bearer YOUR_API_KEY'",
  ];
  if (body !== undefined) {
    lines.push("-H 'Content-Type: application/json'");
    lines.push(`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`);
  }
  return lines.join(' \\\n  ');
}

/**
 * The request behind what is on screen, folded.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
export function asRequest(method, path, body) {
  return h('details', null, h('summary', null, 'The same with the API'),
    code('Request with curl', curl(method, path, body)));
}
