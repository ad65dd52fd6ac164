// How many messages nobody has read: the inbox tells the navigation.

import { get } from './api.js';

/** @type {(count: number) => void} */
let told = () => {};

/** @param {(count: number) => void} listener */
export function unreadTold(listener) {
  told = listener;
}

/** @param {number} count */
export function unreadTell(count) {
  told(count);
}

export async function unreadRead() {
  try {
    const answer = await get('/v1/conversations', { limit: 1 });
    told(answer.meta.unread_total);
  } catch {
    // The frame says when the server is away.
  }
}
