import { describe, expect, it } from 'vitest';
import { type Bound, chooseWithinLimits } from '../../../../lambda/domain/admission.ts';

describe('claims are chosen', () => {
  const choose = (
    claims: Record<string, number>,
    more: { baseBytes?: number; limitBytes?: number | null; bounds?: Bound[]; free?: string[] } = {},
  ) => {
    const limitBytes = more.limitBytes === undefined ? 100 : more.limitBytes;
    const { chosen, refused, addedBytes } = chooseWithinLimits({
      claims: new Map(Object.entries(claims)),
      bounds: [{ baseBytes: more.baseBytes ?? 0, limitBytes }, ...(more.bounds ?? [])],
      isFree: (oid) => more.free?.includes(oid) ?? false,
    });
    return { chosen: Object.fromEntries(chosen), refused: Object.fromEntries(refused), addedBytes };
  };

  it('up to the very byte of the limit', () => {
    expect(choose({ a: 60, b: 40 })).toEqual({ chosen: { a: 60, b: 40 }, refused: {}, addedBytes: 100 });
    expect(choose({ a: 60, b: 41 })).toEqual({ chosen: { a: 60 }, refused: { b: 41 }, addedBytes: 60 });
    expect(choose({ a: 1 }, { baseBytes: 100 })).toEqual({ chosen: {}, refused: { a: 1 }, addedBytes: 0 });
  });

  it('in the order of the request, and a large one does not keep out a smaller one behind it', () => {
    expect(choose({ a: 50, b: 60, c: 50 }).chosen).toEqual({ a: 50, c: 50 });
  });

  it('within each of several limits', () => {
    const tight = { baseBytes: 20, limitBytes: 70 };
    expect(choose({ a: 50, b: 1 }, { bounds: [tight] })).toEqual({
      chosen: { a: 50 },
      refused: { b: 1 },
      addedBytes: 50,
    });
    expect(choose({ a: 50 }, { baseBytes: 51, bounds: [tight] }).chosen).toEqual({});
    expect(choose({ a: 60 }, { bounds: [{ baseBytes: 0, limitBytes: null }] }).chosen).toEqual({ a: 60 });
  });

  it('for nothing if they are free, with their true size', () => {
    expect(choose({ a: 90, b: 90 }, { baseBytes: 10, free: ['b'] })).toEqual({
      chosen: { a: 90, b: 90 },
      refused: {},
      addedBytes: 90,
    });
  });

  it('whatever their size if there is no limit, up to 2^53 − 1', () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(choose({ a: most }, { limitBytes: null }).chosen).toEqual({ a: most });
    expect(choose({ a: most }, { limitBytes: null, baseBytes: 1 }).refused).toEqual({ a: most });
  });
});
