// How a text is split into the parts that are charged. The price itself comes from the server's
// quote; this says at once, while somebody types, how long the text is and which character makes
// it dearer.

const GSM = new Set('@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡'
  + 'ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà');
const EXTENDED = new Set('\f^{}\\[~]|€');

/** What can stand for a character without making the text dearer. @type {Record<string, string>} */
const PLAIN = {
  '‘': "'", '’': "'", '‚': "'", '′': "'", '`': "'", '´': "'", '“': '"', '”': '"', '„': '"',
  '–': '-', '—': '-', '‐': '-', '‑': '-', '−': '-', '…': '...', '•': '-', '·': '.',
  '\u00a0': ' ', '\u2009': ' ', '\u202f': ' ', '\u200b': '', '\ufeff': '', '\t': ' ',
};

/**
 * @typedef {object} Measure
 * @property {number} characters
 * @property {'gsm7' | 'ucs2'} encoding
 * @property {number} parts
 * @property {number} left characters until the next part
 * @property {string[]} dear the characters that are not in the GSM alphabet, each once
 */

/** @param {string} text @returns {Measure} */
export function measure(text) {
  const characters = [...text];
  const dear = [...new Set(characters.filter((one) => !GSM.has(one) && !EXTENDED.has(one)))];
  const encoding = dear.length > 0 ? 'ucs2' : 'gsm7';
  const [single, joined] = encoding === 'gsm7' ? [160, 153] : [70, 67];
  const widths = characters.map((one) => (
    encoding === 'gsm7' ? (EXTENDED.has(one) ? 2 : 1) : one.length
  ));
  const total = widths.reduce((sum, width) => sum + width, 0);
  if (total <= single) {
    const parts = total === 0 ? 0 : 1;
    return { characters: characters.length, encoding, parts, left: single - total, dear };
  }
  // A pair of units is never split across two parts.
  let parts = 1;
  let used = 0;
  for (const width of widths) {
    if (used + width > joined) {
      parts += 1;
      used = 0;
    }
    used += width;
  }
  return { characters: characters.length, encoding, parts, left: joined - used, dear };
}

/** Whether every one of these characters has a plain one. @param {string[]} dear */
export function replaceable(dear) {
  return dear.length > 0 && dear.every((one) => one in PLAIN);
}

/** @param {string} text */
export function plain(text) {
  return [...text].map((one) => (GSM.has(one) || EXTENDED.has(one) ? one : PLAIN[one] ?? one))
    .join('');
}

/** A character's name for people. @param {string} character */
export function named(character) {
  /** @type {Record<string, string>} */
  const names = {
    '\u00a0': 'a non-breaking space', '\u200b': 'a zero-width space', '\t': 'a tab',
    '\u2009': 'a thin space', '\u202f': 'a narrow space', '\ufeff': 'a byte order mark',
  };
  return names[character] ?? `“${character}”`;
}
