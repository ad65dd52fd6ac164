// Text to be copied: a request, a secret that is shown once.

import { h } from '../dom.js';
import { button } from './button.js';
import { toast } from './notice.js';

/**
 * @param {string} label
 * @param {string} text
 */
export function code(label, text) {
  return h('div', { class: 'code' },
    h('pre', { tabindex: '0', role: 'group', 'aria-label': label }, h('code', null, text)),
    h('div', { class: 'actions' }, button('Copy', async () => {
      await navigator.clipboard.writeText(text);
      toast('Copied.');
    }, { small: true, label: `Copy: ${label}` })));
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
