/**
 * Text of other origin without what could break the line, control the terminal, or show letters in another order than
 * they have.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
