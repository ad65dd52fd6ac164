// Tells pages what happened, as it happens: by the event stream, or by asking again and again where
// the server has no stream. A page that nobody looks at is not told, until it is looked at again.

import { get } from './api.js';

/**
 * The types of what has happened since the last call. `any` stands for what cannot be known: time
 * has passed, or the stream was away.
 * @typedef {ReadonlySet<string>} Happened
 */
/** @typedef {(happened: Happened) => void} Listener */

const TYPES = ['message.sent', 'message.delivered', 'message.failed', 'message.received',
  'opt_out.created', 'link.clicked'];
const POLL_EVERY = 3000;
const REJOIN_AFTER = 2000;
/** A campaign makes thousands of events: pages are told of all of them at once. */
const TELL_AT_MOST_EVERY = 700;

/** @type {Set<Listener>} */
const listeners = new Set();
/** @type {Set<string>} */
let waiting = new Set();
/** @type {EventSource | null} */
let source = null;
let timer = 0;
let telling = 0;
let streamless = false;
/** @type {(reached: boolean) => void} */
let onReach = () => {};

/** @param {(reached: boolean) => void} told */
export function reachTold(told) {
  onReach = told;
}

/**
 * Calls `listener` when something has happened, until `signal` ends.
 * @param {AbortSignal} signal
 * @param {Listener} listener
 */
export function live(signal, listener) {
  if (signal.aborted) return;
  listeners.add(listener);
  signal.addEventListener('abort', () => {
    listeners.delete(listener);
    if (listeners.size === 0) stop();
  });
  if (listeners.size === 1) begin();
}

document.addEventListener('visibilitychange', () => {
  stop();
  if (document.visibilityState !== 'visible' || listeners.size === 0) return;
  happened('any');
  begin();
});

function begin() {
  if (document.visibilityState !== 'visible') return;
  if (streamless) poll();
  else follow();
}

function stop() {
  source?.close();
  source = null;
  clearTimeout(timer);
}

/** @param {string} type */
function happened(type) {
  waiting.add(type);
  if (telling === 0) tell();
}

function tell() {
  telling = 0;
  if (waiting.size === 0) return;
  telling = window.setTimeout(tell, TELL_AT_MOST_EVERY);
  const all = waiting;
  waiting = new Set();
  for (const listener of [...listeners]) listener(all);
}

function follow() {
  const stream = new EventSource('/console/api/v1/events/stream');
  source = stream;
  let opened = false;
  stream.onopen = () => {
    opened = true;
    onReach(true);
  };
  for (const type of TYPES) stream.addEventListener(type, () => happened(type));
  stream.onmessage = (message) => {
    happened(/"type":\s*"([a-z_.]+)"/.exec(message.data)?.[1] ?? 'any');
  };
  stream.onerror = () => {
    if (source !== stream) return;
    stream.close();
    source = null;
    rejoin(opened);
  };
}

/**
 * The stream ended, or there is none.
 * @param {boolean} opened whether there was one
 */
async function rejoin(opened) {
  // A failure says nothing of the stream: once the server answers, the stream is asked for again.
  const well = await get('/v1/balance').then(() => true, () => false);
  if (listeners.size === 0 || source || document.visibilityState !== 'visible') return;
  if (well && !opened) {
    streamless = true;
    poll();
    return;
  }
  if (well) happened('any');
  clearTimeout(timer);
  timer = window.setTimeout(() => (well ? follow() : rejoin(true)), REJOIN_AFTER);
}

function poll() {
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    happened('any');
    if (listeners.size > 0) poll();
  }, POLL_EVERY);
}
