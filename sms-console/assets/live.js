// Tells pages what happened, as it happens: by the event stream, or by asking again and again where
// the server has no stream.

import { get } from './api.js';

/** @typedef {{type: string}} LiveEvent `poll` when only the time has passed */
/** @typedef {(event: LiveEvent) => void} Listener */

const TYPES = ['message.sent', 'message.delivered', 'message.failed', 'message.received',
  'opt_out.created', 'link.clicked'];
const POLL_EVERY = 3000;
const REJOIN_EVERY = 2000;

/** @type {Set<Listener>} */
const listeners = new Set();
/** @type {EventSource | null} */
let source = null;
let timer = 0;
let streamless = false;
/** @type {(reached: boolean) => void} */
let onReach = () => {};

/** @param {(reached: boolean) => void} told */
export function reachTold(told) {
  onReach = told;
}

/**
 * Calls `listener` on every event until `signal` ends.
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

function begin() {
  if (streamless) poll();
  else follow();
}

function stop() {
  source?.close();
  source = null;
  clearTimeout(timer);
}

/** @param {LiveEvent} event */
function tell(event) {
  for (const listener of [...listeners]) listener(event);
}

function follow() {
  const stream = new EventSource('/console/api/v1/events/stream');
  source = stream;
  let opened = false;
  stream.onopen = () => {
    onReach(true);
    // What happened while nobody listened is read once more.
    if (opened) tell({ type: 'poll' });
    opened = true;
  };
  for (const type of TYPES) stream.addEventListener(type, () => tell({ type }));
  stream.onmessage = (message) => {
    const type = /"type":\s*"([a-z_.]+)"/.exec(message.data)?.[1];
    tell({ type: type ?? 'poll' });
  };
  stream.onerror = () => {
    if (source !== stream) return;
    stream.close();
    source = null;
    afterStream(opened);
  };
}

/** The stream ended, or there is none. @param {boolean} opened */
async function afterStream(opened) {
  if (listeners.size === 0) return;
  const reached = await get('/v1/balance').then(() => true, () => false);
  onReach(reached);
  if (listeners.size === 0 || source) return;
  if (reached && !opened) {
    streamless = true;
    poll();
    return;
  }
  if (reached) tell({ type: 'poll' });
  clearTimeout(timer);
  timer = window.setTimeout(reached ? follow : () => afterStream(opened), REJOIN_EVERY);
}

function poll() {
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    if (document.visibilityState === 'visible') tell({ type: 'poll' });
    if (listeners.size > 0) poll();
  }, POLL_EVERY);
}
