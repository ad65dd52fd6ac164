// What happens in the account, as it happens: the server's stream of events. Of all tabs that
// somebody looks at, one follows it and tells the others. The page names the kinds of event, and
// whose they are: `<body data-events="message.sent …" data-owner="…">`.

const FOLLOW = '/console/api/v1/events/stream';
const { events = '', owner = '' } = document.body.dataset;
const NAME = `events ${owner}`;

/** After a stream has ended, this long in milliseconds: doubled each time that none opens. */
const SHORTEST = 1000;
const LONGEST = 30_000;

/**
 * @typedef {object} Listener
 * @property {(kind: string) => void} happened
 * @property {(is: boolean) => void} followed whether events are told from now on
 */
/** @typedef {{kind?: string, open?: boolean, asks?: boolean}} Word what tabs tell each other */

/** @type {Listener} */
let listener = { happened: () => {}, followed: () => {} };
/** @type {BroadcastChannel | null} */
let others = null;
/** @type {AbortController | null} */
let here = null;
let isOpen = false;
let isMine = false;
let noMoreWaiting = () => {};

/** Tells `told` what happens while somebody looks at this tab. @param {Listener} told */
export function follow(told) {
  if (!events) return;
  listener = told;
  document.addEventListener('visibilitychange', comeOrGo);
  comeOrGo();
}

/** The server has answered again: there is no need to wait longer. */
export function followNow() {
  noMoreWaiting();
}

function comeOrGo() {
  const isSeen = document.visibilityState === 'visible';
  if (isSeen && !here) come();
  if (!isSeen && here) go();
}

function come() {
  here = new AbortController();
  waitForTurn(here.signal);
}

function go() {
  here?.abort();
  here = null;
  noMoreWaiting();
  others?.close();
  others = null;
  hear({ open: false });
}

/** @param {Word} word */
function hear({ kind, open, asks }) {
  if (kind !== undefined) listener.happened(kind);
  if (asks && isMine) others?.postMessage({ open: isOpen });
  if (open === undefined || open === isOpen) return;
  isOpen = open;
  listener.followed(open);
}

/** @param {Word} word */
function say(word) {
  others?.postMessage(word);
  hear(word);
}

/** Follows the stream once no other tab does. @param {AbortSignal} signal */
async function waitForTurn(signal) {
  // Browsers have locks only where nobody on the way can read along. Elsewhere every tab follows.
  if (!navigator.locks) return followAll(signal);
  others = new BroadcastChannel(NAME);
  others.onmessage = (message) => hear(message.data);
  others.postMessage({ asks: true });
  try {
    await navigator.locks.request(NAME, { signal }, () => followAll(signal));
  } catch {
    // Nobody looks at this tab any more.
  }
}

/** One stream after the other. @param {AbortSignal} signal */
async function followAll(signal) {
  isMine = true;
  say({ open: false });
  let shut = 0;
  while (!signal.aborted) {
    const wasOpen = await followOne(signal);
    if (signal.aborted) break;
    say({ open: false });
    shut = wasOpen ? 0 : shut + 1;
    await pause(Math.min(LONGEST, SHORTEST * 2 ** shut));
  }
  isMine = false;
}

/**
 * Follows one stream to its end. Says whether it was open at all.
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
function followOne(signal) {
  return new Promise((ended) => {
    const stream = new EventSource(FOLLOW);
    let wasOpen = false;
    const end = () => {
      signal.removeEventListener('abort', end);
      stream.close();
      ended(wasOpen);
    };
    stream.onopen = () => {
      wasOpen = true;
      say({ open: true });
    };
    for (const kind of events.split(' ')) stream.addEventListener(kind, () => say({ kind }));
    stream.addEventListener('stream.ended', end);
    stream.onerror = end;
    signal.addEventListener('abort', end);
  });
}

/**
 * Not all tabs of the world come back in the same moment.
 * @param {number} time
 * @returns {Promise<void>}
 */
function pause(time) {
  return new Promise((over) => {
    const timer = setTimeout(() => over(), time * (0.5 + Math.random() / 2));
    noMoreWaiting = () => {
      clearTimeout(timer);
      over();
    };
  });
}
