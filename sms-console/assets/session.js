// Who is signed in. The key itself stays with the server: the browser holds a cookie that scripts
// cannot read, and this module holds what the page may know.

import { Refused, ask, connect } from './api.js';

/**
 * @typedef {object} Session
 * @property {'account' | 'operator'} kind
 * @property {'live' | 'test' | null} mode the operator has none
 * @property {{id: string, name: string} | null} account
 * @property {string} csrf
 * @property {string} expires_at
 */

const tabs = new BroadcastChannel('console session');

/** Calls `told` when another tab has signed in: the cookie is that session's now.
 * @param {() => void} told */
export function signedInElsewhere(told) {
  tabs.onmessage = told;
}

/** @type {Session | null} */
let current = null;

/** @returns {Session} */
export function session() {
  if (!current) throw new Error('nobody is signed in');
  return current;
}

export const signedIn = () => current !== null;
export const testMode = () => current?.mode === 'test';

/** Names what belongs to whoever is signed in, so that no draft is shown to somebody else. */
export function owner() {
  return current ? `${current.account?.id ?? current.kind}/${current.mode ?? ''}` : '';
}

/** @param {Session | null} next */
function become(next) {
  current = next;
  connect({ csrf: next?.csrf ?? '' });
}

/** Asks who is signed in. @returns {Promise<Session>} */
export async function sessionRead() {
  const answer = await ask('GET', '/console/session');
  become(answer);
  return session();
}

export async function signOut() {
  try {
    await ask('DELETE', '/console/session');
  } catch (error) {
    // It had ended already.
    if (!(error instanceof Refused && error.status === 401)) throw error;
  }
  become(null);
  sessionStorage.clear();
}

/** Forgets the session that the server ended. Drafts stay for whoever signs in again. */
export function sessionExpired() {
  become(null);
}
