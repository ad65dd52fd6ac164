// Signing in: an API key or the operator's token is exchanged for a session. The key is not kept.

import { Refused } from '../api.js';
import { h } from '../dom.js';
import { field } from '../part/field.js';
import { form } from '../part/form.js';
import { notice } from '../part/notice.js';
import { redirect } from '../router.js';
import { signIn } from '../session.js';
import { themeField } from '../shell.js';

/** @param {import('../router.js').View} view @returns {import('../router.js').Page} */
export function page({ url }) {
  const key = field({
    name: 'key', label: 'API key or operator’s token', type: 'password', required: true,
    hint: 'A live key, a test key, or the token of whoever runs the service.',
    attributes: { 'data-focus': true, spellcheck: 'false', autocomplete: 'off' },
  });
  const element = form({
    label: 'Sign in', content: [key.element], fields: [key], submit: 'Sign in',
    onsubmit: async () => {
      try {
        await signIn(key.value().trim());
      } catch (error) {
        if (error instanceof Refused && error.status === 401) {
          key.complain('This key is not valid. Check it, or ask for a new one.');
          key.control.focus();
          return;
        }
        throw error;
      }
      key.set('');
      redirect(backTo(url));
    },
  });
  return {
    title: 'Sign in',
    content: h('div', { class: 'sign-in stack' },
      h('div', { class: 'card stack' },
        h('h1', { tabindex: '-1' }, 'SMS console'),
        url.searchParams.has('expired') ? notice('warn',
          h('p', null, 'Your session has ended. Sign in again: what you wrote is still here.'))
          : null,
        element,
        h('p', { class: 'small faint' }, 'The key goes to the server once and is not kept in the '
          + 'browser. You are signed out after 12 hours.')),
      themeField()),
  };
}

/** Only pages of the console: an address from elsewhere is not followed. @param {URL} url */
function backTo(url) {
  const back = url.searchParams.get('back') ?? '';
  return /^\/console(?:[/?]|$)/.test(back) && !back.startsWith('/console/sign-in')
    ? back : '/console';
}
