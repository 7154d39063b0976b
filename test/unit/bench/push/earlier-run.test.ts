import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addToEarlier, readEarlier } from '../../../../bench/push/earlier-run.ts';
import { sampleOf } from '../../../../bench/push/sample.ts';
import { type MeasuredPhase, summarize } from '../../../../bench/push/summary.ts';
import { formatSummaries } from '../../../../bench/push/table.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();

function summary(place: { case: string; latency: 'on' | 'off'; wallMs: number }) {
  const nothing = { seenByApi: [], seenByStore: [], queueSends: 0, isPriced: false };
  const sample = sampleOf({ wallMs: place.wallMs, serverCpuMs: 0, storeCpuMs: 0, ...nothing });
  const { wallMs: _, ...rest } = place;
  const row: MeasuredPhase = { ...rest, phase: 'push', server: 'ours', rounds: [sample] };
  return summarize([row], 'ours');
}

it('a later run adds its cases to those of an earlier one, and replaces what it measured anew', () => {
  const earlier = [
    ...summary({ case: 'small', latency: 'on', wallMs: 1000 }),
    ...summary({ case: 'small', latency: 'off', wallMs: 2000 }),
  ];
  const newer = [
    ...summary({ case: 'small', latency: 'off', wallMs: 3000 }),
    ...summary({ case: 'large', latency: 'on', wallMs: 4000 }),
  ];
  const places = addToEarlier(earlier, newer).map((row) => [row.case, row.latency, row.wallMs]);
  expect(places).toEqual([
    ['small', 'on', 1000],
    ['small', 'off', 3000],
    ['large', 'on', 4000],
  ]);
});

it('a run is read from its JSON as it was printed', () => {
  const file = join(tempFolder(), 'push.json');
  const summaries = summary({ case: 'small', latency: 'on', wallMs: 1000 });
  writeFileSync(file, JSON.stringify({ node: 'v1', result: { summaries } }));
  expect(formatSummaries(readEarlier(file))).toBe(formatSummaries(summaries));
});

it.each([
  ['of another benchmark', { result: { rows: [] } }],
  ['of something else', { result: { summaries: [{}] } }],
  ['without a result', {}],
])('a file %s is refused', (_, content) => {
  const file = join(tempFolder(), 'other.json');
  writeFileSync(file, JSON.stringify(content));
  expect(() => readEarlier(file)).toThrow('is no result of `npm run bench -- push`');
});
