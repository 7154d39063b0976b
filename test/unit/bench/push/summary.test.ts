import { describe, expect, it } from 'vitest';
import { type Sample, sampleOf } from '../../../../bench/push/sample.ts';
import { type MeasuredPhase, summarize } from '../../../../bench/push/summary.ts';
import { formatFailures, formatSummaries } from '../../../../bench/push/table.ts';

function sample(input: { wallMs: number; cpuMs: number; heads?: number; isPriced?: boolean }): Sample {
  const { wallMs, cpuMs, heads = 0, isPriced = true } = input;
  return sampleOf({
    wallMs,
    serverCpuMs: cpuMs,
    storeCpuMs: 10,
    seenByApi: [{ method: 'POST', target: '/objects/batch', status: 200 }],
    seenByStore: Array.from({ length: heads }, () => ({ method: 'HEAD', target: '/b/k', status: 200 })),
    queueSends: 2,
    isPriced,
  });
}

const place = { case: '1 × 1 KB', latency: 'on', phase: 'push' } as const;
const bound: MeasuredPhase = {
  ...place,
  server: 'bound',
  rounds: [
    sample({ wallMs: 1000, cpuMs: 100 }),
    sample({ wallMs: 9000, cpuMs: 100 }),
    sample({ wallMs: 2000, cpuMs: 50 }),
  ],
};
const other: MeasuredPhase = {
  ...place,
  server: 'other',
  rounds: [
    sample({ wallMs: 3000, cpuMs: 300, heads: 5, isPriced: false }),
    sample({ wallMs: 5000, cpuMs: 200, heads: 7, isPriced: false }),
  ],
};

describe('the summary of the rounds', () => {
  const [ofBound, ofOther] = summarize([bound, other], 'bound');

  it('has medians, and each round', () => {
    expect(ofBound).toMatchObject({
      wallMs: 2000,
      serverCpuMs: 100,
      timesWall: 1,
      timesCpu: 1,
      queueSends: 2,
    });
    expect(ofBound?.wallMsOfRounds).toEqual([1000, 9000, 2000]);
    expect(ofOther?.store['serverHead']).toBe(6);
    expect(ofOther?.api['batch']).toBe(1);
  });

  it('compares with the bound in the same place', () => {
    expect(ofOther).toMatchObject({ timesWall: 2, timesCpu: 2.5 });
    const elsewhere = summarize([{ ...bound, phase: 'pull' }, other], 'bound');
    expect(elsewhere[1]?.timesWall).toBeUndefined();
  });

  it('prices the requests to an API only where they have a price', () => {
    expect(ofBound?.apiDollars).toBeCloseTo(2.2e-6, 12);
    expect(ofOther?.apiDollars).toBeUndefined();
    expect(ofOther?.storeDollars).toBeCloseTo(6 * 0.4e-6, 12);
  });

  it('counts the failures of all rounds', () => {
    const failing = sampleOf({
      wallMs: 1,
      serverCpuMs: 1,
      storeCpuMs: 1,
      seenByApi: [{ method: 'POST', target: '/objects/batch', status: 500 }],
      seenByStore: [{ method: 'PUT', target: '/b/k', status: 403 }],
      queueSends: 0,
      isPriced: true,
    });
    const summaries = summarize([bound, { ...other, rounds: [failing, failing] }], 'bound');
    expect(summaries.map(({ failures }) => failures)).toEqual([0, 4]);
    expect(formatFailures(summaries)).toEqual([
      '1 × 1 KB, with latency: push, other: 4 requests were answered with an error.',
    ]);
  });
});

it('the table has a part for each case, latency and phase, and a line for each server', () => {
  const pull: MeasuredPhase = { ...other, phase: 'pull', latency: 'off' };
  const parts = formatSummaries(summarize([bound, other, pull], 'bound')).split('\n\n');
  expect(parts.map((part) => part.split('\n')[0])).toEqual([
    '1 × 1 KB, with latency: push',
    '1 × 1 KB, no latency: pull',
  ]);
  const [header = '', , first = '', second = ''] = (parts[0] ?? '').split('\n').slice(1);
  expect(header).toContain('× bound');
  expect(first.split(/ {2,}/).slice(0, 5)).toEqual(['bound', '2.00', '1.00', '0.10', '1.00']);
  expect(second.split(/ {2,}/).slice(0, 5)).toEqual(['other', '4.00', '2.00', '0.25', '2.50']);
  expect(first.endsWith('1.00 9.00 2.00')).toBe(true);
});
