// Icons: 20 by 20, drawn with lines of the text's colour. They say nothing to a screen reader:
// the words beside them do.

import { svg } from '../dom.js';

/** @type {Record<string, string>} */
const PATHS = {
  home: 'M3 9.5 10 3.5l7 6V16a1 1 0 0 1-1 1h-3.5v-4.5h-5V17H4a1 1 0 0 1-1-1z',
  inbox: 'M3 11h3.5l1.5 2.5h4l1.5-2.5H17M3 11l2.5-6.5h9L17 11v4.5H3z',
  messages: 'M3 5a1 1 0 0 1 1-1h12a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H9l-4 3v-3H4a1 1 0 0 1-1-1z',
  compose: 'M11 4H4.5A1.5 1.5 0 0 0 3 5.5v10A1.5 1.5 0 0 0 4.5 17h10'
    + 'a1.5 1.5 0 0 0 1.5-1.5V9M8 12l.5-2.5 7-7 2 2-7 7z',
  contacts: 'M10 10a3.25 3.25 0 1 0 0-6.5 3.25 3.25 0 0 0 0 6.5zM3.5 17'
    + 'c.5-3 3-4.5 6.5-4.5s6 1.5 6.5 4.5',
  lists: 'M4 5.5h.01M4 10h.01M4 14.5h.01M7.5 5.5H17M7.5 10H17M7.5 14.5H17',
  campaigns: 'M3 8.5v3l2.5.5L14 16V4L5.5 8zM14 8.5a1.5 1.5 0 0 1 0 3'
    + 'M6.5 12.5V16h2v-2.5',
  templates: 'M5 3h7l3 3v11H5zM7.5 9h5M7.5 12h5',
  keywords: 'M7.5 3 6 17M14 3l-1.5 14M3.5 7.5h13.5M3 12.5h13.5',
  optouts: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM5 5l10 10',
  senders: 'M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 16c.5-2.5 2.5-4 6-4'
    + 'M12 15.5l1.5 1.5 3.5-3.5',
  links: 'M8.5 11.5a3 3 0 0 0 4.25 0l3-3a3 3 0 0 0-4.25-4.25l-1 1M11.5 8.5'
    + 'a3 3 0 0 0-4.25 0l-3 3a3 3 0 0 0 4.25 4.25l1-1',
  developers: 'M7 6 3 10l4 4M13 6l4 4-4 4',
  accounts: 'M4 17V5.5L10 3l6 2.5V17M3 17h14M8 8h.01M12 8h.01M8 11h.01M12 11h.01'
    + 'M9 17v-3h2v3',
  numbers: 'M6.5 2.5h7a1 1 0 0 1 1 1v13a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-13a1 1 0 0 1 1-1z'
    + 'M9 14.5h2',
  unrouted: 'M3 10h8M8 6.5 11.5 10 8 13.5M15 4v5M15 12.5v.01',
  routes: 'M5 15.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM15 7.5a1.5 1.5 0 1 0 0-3'
    + ' 1.5 1.5 0 0 0 0 3zM6.5 14H12a3 3 0 0 0 3-3V7.5',
  sandbox: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4l2.5 2',
  design: 'M10 3v14M3 10h14M5.5 5.5l9 9M14.5 5.5l-9 9',
  menu: 'M3.5 6h13M3.5 10h13M3.5 14h13',
  back: 'M12 4.5 6.5 10l5.5 5.5',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4',
};

/** @param {string} name @param {number} [size] */
export function icon(name, size = 20) {
  return svg('svg', {
    viewBox: '0 0 20 20', width: size, height: size, fill: 'none', stroke: 'currentColor',
    'stroke-width': 1.5, 'stroke-linecap': 'round', 'stroke-linejoin': 'round',
    'aria-hidden': 'true', focusable: 'false',
  }, svg('path', { d: PATHS[name] ?? PATHS.messages }));
}
