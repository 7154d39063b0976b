import { describe, expect, it } from 'vitest';
import { chooseWithinLimit } from '../../../../lambda/domain/admission.ts';

describe('claims are chosen', () => {
  const choose = (
    claims: Record<string, number>,
    more: { baseBytes?: number; limitBytes?: number | null; free?: string[] } = {},
  ) => {
    const { chosen, refused, usedBytes } = chooseWithinLimit({
      claims: new Map(Object.entries(claims)),
      baseBytes: more.baseBytes ?? 0,
      limitBytes: more.limitBytes === undefined ? 100 : more.limitBytes,
      isFree: (oid) => more.free?.includes(oid) ?? false,
    });
    return { chosen: Object.fromEntries(chosen), refused: Object.fromEntries(refused), usedBytes };
  };

  it('up to the very byte of the limit', () => {
    expect(choose({ a: 60, b: 40 })).toEqual({ chosen: { a: 60, b: 40 }, refused: {}, usedBytes: 100 });
    expect(choose({ a: 60, b: 41 })).toEqual({ chosen: { a: 60 }, refused: { b: 41 }, usedBytes: 60 });
    expect(choose({ a: 1 }, { baseBytes: 100 })).toEqual({ chosen: {}, refused: { a: 1 }, usedBytes: 100 });
  });

  it('in the order of the request, and a large one does not keep out a smaller one behind it', () => {
    expect(choose({ a: 50, b: 60, c: 50 }).chosen).toEqual({ a: 50, c: 50 });
  });

  it('for nothing if they are free, with their true size', () => {
    expect(choose({ a: 90, b: 90 }, { baseBytes: 10, free: ['b'] })).toEqual({
      chosen: { a: 90, b: 90 },
      refused: {},
      usedBytes: 100,
    });
  });

  it('whatever their size if there is no limit, up to 2^53 − 1', () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(choose({ a: most }, { limitBytes: null }).chosen).toEqual({ a: most });
    expect(choose({ a: most }, { limitBytes: null, baseBytes: 1 }).refused).toEqual({ a: most });
  });
});
