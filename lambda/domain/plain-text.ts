/**
 * Controls, bidi marks, halves of surrogate pairs, private and unassigned characters: a terminal or a page that shows them
 * shows something else. Persian, Hindi and emoji need the two joiners.
 */
const hidden = /(?!\u200c|\u200d)[\p{C}\u2028\u2029]/u;
const eachHidden = new RegExp(hidden, 'gu');

/** Whether a text has no character that hides or moves others. */
export function isPlainText(text: string): boolean {
  return !hidden.test(text);
}

/** A text without them, to be shown: an older version took them. */
export function plainText(text: string): string {
  return text.replace(eachHidden, '');
}
