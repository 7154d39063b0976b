import { describe, expect, it } from 'vitest';
import { renderGc } from '../../../../../cli/subjects/gc/gc.ts';
import { displayWidth } from '../../../../../cli/terminal.ts';

const fits = (lines: readonly string[], width: number) => {
  for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(width);
};

describe('the tables of a gc run', () => {
  it.each([40, 60, 80, 120])('fit %i columns', (width) => {
    const sum = { objectCount: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER };
    const text = renderGc(
      {
        tenant: 'acme',
        repo: 'game',
        state: 'watching',
        openedAt: '2026-11-20T05:00:00Z',
        endedAt: null,
        snapshotFrom: '2026-11-20T05:00:00Z',
        mayRun: true,
        run: { dryRun: true, force: false, minAgeDays: 7, startedAt: '2026-11-21T04:00:00Z' },
        found: {
          stored: sum,
          kept: sum,
          inUse: sum,
          young: sum,
          candidates: sum,
          isMoreThanHalf: false,
          largest: [{ oid: 'a'.repeat(64), sizeBytes: Number.MAX_SAFE_INTEGER }],
          lists: [],
        },
        deleted: sum,
        failure: null,
      } as unknown as Parameters<typeof renderGc>[0],
      { nowMs: Date.parse('2026-11-21T05:00:00Z'), width, paint: (_, text) => text },
    );
    const [found = '', largest = ''] = text.split('\n\n');
    fits(found.split('\n').slice(1), width);
    fits(largest.split('\n').slice(0, 3), width);
    expect(found.match(/9,007,199,254,740,991 objects, 8 PiB/g)).toHaveLength(5);
  });
});
