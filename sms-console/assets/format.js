// How numbers, times and amounts are written for people.

import { h } from './dom.js';

/**
 * A number as people write it: +447700900123 is 07700 900123.
 * @param {string} number
 */
export function phone(number) {
  const national = /^\+44(\d{10})$/.exec(number)?.[1];
  if (!national) return number;
  // London, Cardiff and the like have short area codes: 020 7946 0000.
  return national.startsWith('2')
    ? `0${national.slice(0, 2)} ${national.slice(2, 6)} ${national.slice(6)}`
    : `0${national.slice(0, 4)} ${national.slice(4)}`;
}

/**
 * Whether `text` looks like a number that somebody types, and not like words.
 * @param {string} text
 */
export function looksLikeNumber(text) {
  return /^[+()\d\s.-]{7,}$/.test(text);
}

/** @param {number} count */
export function whole(count) {
  return count.toLocaleString('en-GB');
}

/**
 * A count with its noun: 1 message, 2 messages.
 * @param {number} count
 * @param {string} noun
 * @param {string} [plural]
 */
export function counted(count, noun, plural = `${noun}s`) {
  return `${whole(count)} ${count === 1 ? noun : plural}`;
}

/** @param {number} count */
export function credits(count) {
  return counted(count, 'credit');
}

/**
 * A word of the API for people: `given_up` is "Given up".
 * @param {string} word
 */
export function worded(word) {
  const text = word.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** @param {{first_name?: string | null, last_name?: string | null}} contact */
export function fullName(contact) {
  return [contact.first_name, contact.last_name].filter(Boolean).join(' ');
}

/** @param {number} bytes */
export function bytes(bytes) {
  return bytes < 10_000 ? `${whole(bytes)} bytes` : `${whole(Math.round(bytes / 1024))} KB`;
}

const LONDON = 'Europe/London';
/** @param {Intl.DateTimeFormatOptions} options */
const london = (options) => new Intl.DateTimeFormat('en-GB', { timeZone: LONDON, ...options });
const FULL = london({ dateStyle: 'full', timeStyle: 'medium' });
const CLOCK = london({ hour: '2-digit', minute: '2-digit' });
const DAY = london({ day: 'numeric', month: 'short' });
const DAY_YEAR = london({ day: 'numeric', month: 'short', year: 'numeric' });
const WEEKDAY = london({ weekday: 'long', day: 'numeric', month: 'long' });
const PARTS = london({
  year: 'numeric', month: '2-digit', day: '2-digit',
  hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23',
});
const ISO_DAY = new Intl.DateTimeFormat('en-CA', { timeZone: LONDON });

/** The London day of a moment, as 2026-11-23. @param {Date} date */
export function londonDay(date) {
  return ISO_DAY.format(date);
}

/**
 * The London day that is `days` after that of a moment. Days are counted and not hours: those on
 * which the clocks change have 23 or 25.
 * @param {Date} date
 * @param {number} days
 */
export function londonDayAfter(date, days) {
  const noon = new Date(`${londonDay(date)}T12:00:00Z`);
  noon.setUTCDate(noon.getUTCDate() + days);
  return noon.toISOString().slice(0, 10);
}

/** The whole date and time in words. @param {Date} date */
export function fullTime(date) {
  return `${FULL.format(date)}, London time`;
}

/** @param {Date} date */
function briefTime(date, now = new Date()) {
  const day = londonDay(date);
  if (day === londonDay(now)) return CLOCK.format(date);
  if (day === londonDayAfter(now, -1)) {
    return `Yesterday ${CLOCK.format(date)}`;
  }
  if (day.slice(0, 4) === londonDay(now).slice(0, 4)) {
    return `${DAY.format(date)}, ${CLOCK.format(date)}`;
  }
  return `${DAY_YEAR.format(date)}, ${CLOCK.format(date)}`;
}

/**
 * A moment, briefly, with its whole date on hover.
 * @param {string | null | undefined} iso
 * @param {string} [otherwise] what is said when there is no moment
 */
export function time(iso, otherwise = '–') {
  if (!iso) return h('span', { class: 'faint' }, otherwise);
  const date = new Date(iso);
  return h('time', { datetime: iso, title: fullTime(date) }, briefTime(date));
}

/** The time of day, with the whole date on hover. @param {string} iso */
export function clock(iso) {
  const date = new Date(iso);
  return h('time', { datetime: iso, title: fullTime(date) }, CLOCK.format(date));
}

/** A day in words: Today, Yesterday, Monday 23 November. @param {string} iso */
export function dayInWords(iso, now = new Date()) {
  const date = new Date(iso);
  const day = londonDay(date);
  if (day === londonDay(now)) return 'Today';
  if (day === londonDayAfter(now, -1)) return 'Yesterday';
  return WEEKDAY.format(date);
}

/** A moment to come in words: 08:00 tomorrow. @param {string} iso */
export function comingTime(iso, now = new Date()) {
  const date = new Date(iso);
  const day = londonDay(date);
  if (day === londonDay(now)) return `${CLOCK.format(date)} today`;
  if (day === londonDayAfter(now, 1)) {
    return `${CLOCK.format(date)} tomorrow`;
  }
  return `${CLOCK.format(date)} on ${WEEKDAY.format(date)}`;
}

/** Milliseconds that London is ahead of UTC at a moment. @param {number} moment */
function londonOffset(moment) {
  const parts = PARTS.formatToParts(new Date(moment));
  /** @param {string} type */
  const part = (type) => Number(parts.find((one) => one.type === type)?.value);
  const wall = Date.UTC(part('year'), part('month') - 1, part('day'),
    part('hour'), part('minute'), part('second'));
  return wall - Math.floor(moment / 1000) * 1000;
}

/**
 * The moment at which clocks in London show `local` (2026-11-24T08:00), whatever the browser's
 * own time zone is. `null` when it is no time.
 * @param {string} local
 */
export function fromLondon(local) {
  const wall = Date.parse(`${local}Z`);
  if (Number.isNaN(wall)) return null;
  const first = wall - londonOffset(wall);
  const second = wall - londonOffset(first);
  return new Date(second).toISOString();
}

/** What clocks in London show, as a date field wants it. @param {Date} date */
export function toLondon(date) {
  return new Date(date.getTime() + londonOffset(date.getTime())).toISOString().slice(0, 16);
}
