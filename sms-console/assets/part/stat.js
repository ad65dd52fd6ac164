// Figures, and a chart of them by day.

import { h, svg } from '../dom.js';
import { whole } from '../format.js';
import { table } from './table.js';

/**
 * @param {string} name
 * @param {string} value
 * @param {import('../dom.js').Child} [note]
 */
export function stat(name, value, note) {
  return h('div', { class: 'stat' },
    h('dt', { class: 'stat-name' }, name),
    h('dd', { class: 'stat-value' }, value),
    note ? h('dd', { class: 'stat-note' }, note) : null);
}

/** @param {...(HTMLElement | null)} figures */
export function stats(...figures) {
  return h('dl', { class: 'stats' }, figures);
}

/** @typedef {{name: string, of: (row: any) => number, kind: 'main' | 'other' | 'bad'}} Series */

const HEIGHT = 170;
const FLOOR = 146;
const LEFT = 34;
/** As wide as it is shown, about, so that its words have the size of other words. */
const chartWidth = () => (matchMedia('(max-width: 44rem)').matches ? 330 : 880);

/**
 * Bars by day, and the same figures as a table.
 * @param {string} title
 * @param {{date: string}[]} days
 * @param {Series[]} series
 */
export function chart(title, days, series) {
  const full = chartWidth();
  const most = Math.max(1, ...days.flatMap((day) => series.map((one) => one.of(day))));
  const top = niceTop(most);
  const slot = (full - LEFT) / days.length;
  const width = Math.max(1.5, (slot * 0.72) / series.length);
  /** @param {number} count */
  const height = (count) => (count / top) * (FLOOR - 16);
  const bars = days.flatMap((day, index) => series.map((one, place) => svg('rect', {
    class: `bar-${one.kind}`,
    x: (LEFT + index * slot + slot * 0.14 + place * width).toFixed(1),
    y: (FLOOR - height(one.of(day))).toFixed(1),
    width: width.toFixed(1),
    height: height(one.of(day)).toFixed(1),
    rx: Math.min(2, width / 3).toFixed(1),
  }, svg('title', null, `${shortDay(day.date)}: ${one.name} ${whole(one.of(day))}`))));
  const lines = [0, top / 2, top].map((count) => [
    svg('line', { class: 'axis', x1: LEFT, x2: full, y1: FLOOR - height(count),
      y2: FLOOR - height(count) }),
    svg('text', { x: LEFT - 6, y: FLOOR - height(count) + 4, 'text-anchor': 'end' },
      whole(count)),
  ]);
  const every = Math.max(1, Math.ceil(days.length / (full / 110)));
  const names = days.map((day, index) => (index % every === 0
    ? svg('text', { x: (LEFT + index * slot).toFixed(1), y: HEIGHT - 6 }, shortDay(day.date))
    : null));
  const sums = series.map((one) => (
    `${one.name} ${whole(days.reduce((sum, day) => sum + one.of(day), 0))}`
  ));
  return h('figure', { class: 'chart stack' },
    svg('svg', { viewBox: `0 0 ${full} ${HEIGHT}`, role: 'img',
      'aria-label': `${title}: ${sums.join(', ')}` }, lines, bars, names),
    h('figcaption', { class: 'chart-key' },
      series.map((one) => h('span', { class: `key-${one.kind}` }, one.name))),
    h('details', null, h('summary', null, 'The figures as a table'),
      table(title, [
        { label: 'Day', cell: (day) => shortDay(day.date) },
        ...series.map((one) => ({
          label: one.name, right: true, cell: (/** @type {any} */ day) => whole(one.of(day)),
        })),
      ], days.filter((day) => series.some((one) => one.of(day) > 0))).element));
}

/** @param {number} most */
function niceTop(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 4, 5, 10].find((one) => one * power >= most) ?? 10;
  return Math.max(2, step * power);
}

/** @param {string} date */
export function shortDay(date) {
  return new Date(`${date}T12:00:00Z`).toLocaleDateString('en-GB', {
    day: 'numeric', month: 'short', timeZone: 'UTC',
  });
}
