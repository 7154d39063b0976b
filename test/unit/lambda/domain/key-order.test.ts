import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../lambda/domain/key-order.ts';

describe('the order of keys', () => {
  const byBytes = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));

  it('is that of their UTF-8 bytes, also beyond U+FFFF, which JavaScript puts before U+E000', () => {
    const keys = [
      '',
      'a',
      'aa',
      'b',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '\u{10000}',
      '\u{103fe}',
      '\u{103ff}',
      '\u{10ffff}',
    ];
    for (const [index, key] of keys.entries())
      for (const [other, than] of keys.entries())
        expect(Math.sign(compareKeys(key, than)), `${key} and ${than}`).toBe(Math.sign(index - other));
  });

  it('is that of their UTF-8 bytes, whatever they are', () => {
    const key = fc.string({ unit: 'binary', maxLength: 4 });
    fc.assert(
      fc.property(key, key, key, (begin, a, b) => {
        expect(Math.sign(compareKeys(begin + a, begin + b))).toBe(byBytes(begin + a, begin + b));
      }),
    );
  });
});
