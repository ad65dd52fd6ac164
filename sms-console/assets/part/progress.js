// How far something has got.

import { h } from '../dom.js';
import { whole } from '../format.js';

/**
 * @param {string} label
 * @param {number} done
 * @param {number} total
 */
export function progress(label, done, total) {
  return h('div', { class: 'progress' },
    h('progress', { max: Math.max(1, total), 'aria-label': label, value: done }),
    h('div', { class: 'small faint' }, `${label}: ${whole(done)} of ${whole(total)}`));
}
