// Where a message is written: its length, parts and encoding at once, its price from the server's
// quote a moment later, and which character makes it dearer.

import { Refused, ask } from '../api.js';
import { debounced, h, replace } from '../dom.js';
import { counted, credits, whole } from '../format.js';
import { measure, named, plain, replaceable } from '../segment.js';
import { button } from './button.js';
import { field } from './field.js';
import { inWords } from './notice.js';

/** @typedef {import('../api.js').Schemas['Quote']} Quote */

/**
 * @typedef {object} TextBoxOptions
 * @property {AbortSignal} signal
 * @property {string} label
 * @property {string} value
 * @property {string} [hint]
 * @property {boolean} [hideLabel]
 * @property {number} [rows]
 * @property {() => Record<string, unknown> | null} request what to quote; `null`: nothing yet
 * @property {(quote: Quote | null, error: unknown) => void} [onquote]
 * @property {() => void} [onchange]
 * @property {() => void} [onenter] Ctrl and Enter were pressed
 */

const QUOTE_AFTER = 350;
const MOST = 1600;

/** @param {TextBoxOptions} options */
export function textBox(options) {
  const { signal, label, value, hint, hideLabel, rows, request, onquote, onchange } = options;
  const box = field({
    name: 'body', label, hint, hideLabel, value, type: 'textarea',
    attributes: { rows: rows ?? null, spellcheck: 'true' },
  });
  const length = h('div');
  const dear = h('div');
  const price = h('div', { role: 'status' });
  const counter = h('div', { class: 'counter' }, length, dear, price);
  /** @type {AbortController | null} */
  let asking = null;

  const quote = debounced(QUOTE_AFTER, async () => {
    asking?.abort();
    const body = request();
    if (!body || signal.aborted) {
      replace(price);
      onquote?.(null, null);
      return;
    }
    const mine = new AbortController();
    asking = mine;
    try {
      const answer = await ask('POST', '/v1/messages/quote', { body, signal: mine.signal });
      if (mine.signal.aborted || signal.aborted) return;
      replace(price, priceInWords(answer.data));
      onquote?.(answer.data, null);
    } catch (error) {
      if (mine.signal.aborted || signal.aborted) return;
      const said = error instanceof Refused && error.fields[0]?.message;
      replace(price, h('span', { class: 'over' },
        said ? `No price yet: ${said}.` : `No price yet. ${inWords(error)}`));
      onquote?.(null, error);
    }
  });
  const measured = () => {
    const text = box.value();
    const { characters, encoding, parts, left, dear: costly } = measure(text);
    const name = encoding === 'gsm7' ? 'GSM-7' : 'UCS-2';
    replace(length, h('span', { class: characters > MOST ? 'over' : null }, [
      counted(characters, 'character'), counted(parts, 'part'), name,
      parts > 0 ? `${whole(left)} left in this part` : '',
    ].filter(Boolean).join(' · ')),
    characters > MOST ? ` At most ${whole(MOST)} can be sent.` : null);
    replace(dear, costly.length > 0 && dearInWords(costly, () => {
      box.set(plain(box.value()));
      box.control.focus();
      changed();
    }));
  };
  const changed = () => {
    measured();
    onchange?.();
    quote();
  };
  box.control.addEventListener('input', changed);
  box.control.addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey } = /** @type {KeyboardEvent} */ (event);
    if (key === 'Enter' && (ctrlKey || metaKey)) options.onenter?.();
  });
  measured();
  quote();
  return {
    field: box,
    element: h('div', { class: 'stack-tight' }, box.element, counter),
    quote,
    refresh: () => {
      measured();
      quote();
    },
  };
}

/**
 * @param {string[]} costly
 * @param {() => void} mend
 */
function dearInWords(costly, mend) {
  const names = costly.slice(0, 4).map(named).join(', ');
  const rest = costly.length > 4 ? ` and ${costly.length - 4} more` : '';
  const verb = costly.length === 1 ? 'makes' : 'make';
  return h('div', { class: 'actions' },
    h('span', { class: 'dear' }, `${names}${rest} ${verb} this UCS-2: 70 characters a part, `
      + 'not 160.'),
    replaceable(costly) ? button('Use plain characters', mend, { kind: 'quiet', small: true })
      : null);
}

/** @param {Quote} quote */
function priceInWords(quote) {
  if (quote.recipients === 0) return h('span', { class: 'over' }, 'Nobody would get this.');
  const { recipients } = quote;
  const people = recipients === 1 ? '' : ` for ${counted(recipients, 'person', 'people')}`;
  const after = quote.balance - quote.credits;
  return [
    h('strong', null, `Costs ${credits(quote.credits)}`), people,
    after >= 0
      ? `. ${whole(after)} of ${whole(quote.balance)} credits would be left.`
      : h('span', { class: 'over' }, `. The balance is ${credits(quote.balance)}.`),
  ];
}
