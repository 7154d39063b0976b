import { describe, expect, it } from 'vitest';
import { chooseMemory } from '../../../../bench/functions/choose-memory.ts';
import type { MeasuredWork } from '../../../../bench/functions/measure.ts';

function work(given: Partial<MeasuredWork> & Pick<MeasuredWork, 'memoryMb' | 'warmMs'>): MeasuredWork {
  return {
    case: 'a',
    function: 'lfsBatch',
    isAwaited: true,
    processes: 1,
    warmCalls: 1,
    coldMs: given.warmMs,
    coldCpuMs: 1,
    warmCpuMs: 1,
    peakMb: 100,
    dollarsPerMillion: given.memoryMb * given.warmMs,
    means: { cpu: '', memory: '' },
    ...given,
  };
}

const chosen = (measured: readonly MeasuredWork[]) => chooseMemory('lfsBatch', measured)?.memoryMb;

describe('the memory of a function', () => {
  const slowHalf = [
    work({ memoryMb: 256, warmMs: 400 }),
    work({ memoryMb: 512, warmMs: 120 }),
    work({ memoryMb: 1769, warmMs: 100 }),
  ];

  it('is the cheapest that is nearly as fast as the largest', () => {
    expect(chosen(slowHalf)).toBe(512);
    expect(chosen(slowHalf.map((each) => ({ ...each, dollarsPerMillion: 1 / each.memoryMb })))).toBe(1769);
  });

  it('is the cheapest of all if nobody waits', () => {
    expect(
      chosen(slowHalf.map((each) => ({ ...each, isAwaited: false, dollarsPerMillion: each.memoryMb }))),
    ).toBe(256);
  });

  it('has room above the highest peak', () => {
    expect(chosen(slowHalf.map((each) => ({ ...each, peakMb: each.memoryMb === 512 ? 400 : 100 })))).toBe(
      1769,
    );
  });

  it('is one with which all of the work survived', () => {
    const other = slowHalf.filter(({ memoryMb }) => memoryMb !== 512).map((each) => ({ ...each, case: 'b' }));
    expect(chosen([...slowHalf, ...other])).toBe(1769);
  });

  it('is the smaller one if the costs hardly differ', () => {
    const costs = [
      { memoryMb: 256, dollarsPerMillion: 1.2 },
      { memoryMb: 512, dollarsPerMillion: 1 },
    ];
    const nobodyWaits = costs.map((each) => work({ warmMs: 100, isAwaited: false, ...each }));
    expect(chosen(nobodyWaits)).toBe(256);
  });

  it('may be slower by a time that nobody notices', () => {
    expect(chosen([work({ memoryMb: 256, warmMs: 49 }), work({ memoryMb: 1769, warmMs: 9 })])).toBe(256);
  });

  it('must be fast enough for first calls, too', () => {
    const [small, ...rest] = slowHalf.map((each) => ({ ...each, warmMs: 100 }));
    expect(chosen([{ ...work({ memoryMb: 256, warmMs: 100 }), ...small, coldMs: 900 }, ...rest])).toBe(512);
  });
});
