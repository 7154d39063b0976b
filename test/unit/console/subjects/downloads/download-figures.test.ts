import { describe, expect, it } from 'vitest';
import {
  expectedBytes,
  largestBy,
  sumsByDay,
} from '../../../../../console/src/subjects/downloads/download-figures.ts';
import { lastDays } from '../../../../../console/src/text.ts';

describe('downloads', () => {
  const download = (day: string, name: string, bytes: number) => ({
    day,
    repo: name,
    tokenId: 't',
    bytes,
    objects: 1,
  });
  const downloads = [
    download('2026-11-22', 'a', 5),
    download('2026-11-22', 'b', 7),
    download('2026-11-23', 'a', 3),
  ];
  it('are summed up by day and by repo', () => {
    const days = lastDays(3, Date.parse('2026-11-23T23:59:59Z'));
    expect(sumsByDay(downloads, days)).toEqual([
      { key: '2026-11-21', bytes: 0 },
      { key: '2026-11-22', bytes: 12 },
      { key: '2026-11-23', bytes: 3 },
    ]);
    expect(largestBy(downloads, 'repo')).toEqual([
      { key: 'a', bytes: 8 },
      { key: 'b', bytes: 7 },
    ]);
    expect(largestBy(downloads, 'tokenId')).toEqual([{ key: 't', bytes: 15 }]);
  });

  it('leave out what nothing was offered of', () => {
    expect(largestBy([download('2026-11-22', 'c', 0)], 'repo')).toEqual([]);
  });
});

describe('downloads of the month', () => {
  const month = {
    month: '2026-11',
    bytes: 1000,
    objects: 1,
    limitBytes: null,
    resetsAt: '2026-12-01T00:00:00Z',
  };
  const sums = [10, 30, 20, 999].map((bytes, index) => ({ key: `2026-11-${24 + index}`, bytes }));

  it('go on as on the days before, without today', () => {
    expect(expectedBytes(month, sums, Date.parse('2026-11-27T00:00:00Z'))).toBe(1000 + 4 * 20);
    expect(expectedBytes(month, sums, Date.parse('2026-11-30T12:00:00Z'))).toBe(1010);
    expect(expectedBytes(month, [], Date.parse('2026-11-27T00:00:00Z'))).toBe(1000);
    // The page is older than the month.
    expect(expectedBytes(month, sums, Date.parse('2026-12-02T00:00:00Z'))).toBe(1000);
  });
});
