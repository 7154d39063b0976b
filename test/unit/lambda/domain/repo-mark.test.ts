import { describe, expect, it } from 'vitest';
import { isInForce } from '../../../../lambda/domain/repo-mark.ts';

const mark = { sinceMs: 100 };

describe('a mark', () => {
  it('is in force while its repo is open, whether or not it was counted', () => {
    expect(isInForce(mark, undefined)).toBe(true);
    expect(isInForce(mark, { closedAtMs: null })).toBe(true);
    expect(isInForce(mark, { closedAtMs: 99 })).toBe(false);
    expect(isInForce(mark, { closedAtMs: 200 })).toBe(false);
  });

  it('is not once its repo was deleted after that, whatever is still written down', () => {
    expect(isInForce(mark, { closedAtMs: null, endedClosingMs: 99 })).toBe(true);
    expect(isInForce(mark, { closedAtMs: null, endedClosingMs: 100 })).toBe(false);
    expect(isInForce(mark, { closedAtMs: null, endedClosingMs: 101 })).toBe(false);
  });
});
