import { describe, expect, it, vi } from 'vitest';
import type { DownloadPlace } from '../../../../../lambda/adapters/dynamodb/downloads.ts';
import { dayOf } from '../../../../../lambda/rules/text.ts';
import { listDownloadDays } from '../../../../../lambda/use-cases/downloads/list-days.ts';
import { MemoryDownloads } from '../../../../support/memory/stores.ts';

const tenant = 'acme';
const beganMs = Date.UTC(2026, 10, 1);
const dayMs = 86_400_000;

async function downloadsOf(repos: readonly string[], { days, tokens }: { days: number; tokens: number }) {
  const downloads = new MemoryDownloads();
  for (let day = 0; day < days; day += 1)
    for (const repo of repos)
      for (let token = 0; token < tokens; token += 1) {
        const offer = {
          tenant,
          repo,
          tokenId: `t${token}`,
          bytes: 1,
          objects: 1,
          atMs: beganMs + day * dayMs,
          writeId: `${day} ${token}`,
        };
        await downloads.addToDay(offer);
      }
  return downloads;
}

async function all(downloads: MemoryDownloads, repos: readonly string[], pageSize: number) {
  const found: string[] = [];
  const places: DownloadPlace[] = [];
  let after: DownloadPlace | undefined;
  do {
    const page = await listDownloadDays(
      { downloads },
      {
        tenant,
        from: dayOf(beganMs),
        to: '2026-11-30',
        repos,
        pageSize,
        ...(after && { after }),
      },
    );
    expect(page.days.length).toBeLessThanOrEqual(pageSize);
    found.push(...page.days.map(({ day, repo, tokenId }) => `${day} ${repo} ${tokenId}`));
    after = page.next ?? undefined;
    if (after) places.push(after);
  } while (after);
  return { found, places };
}

describe('downloads of some repos', () => {
  it.each([1, 3, 100])('are all found, %i to a page, and no place names another repo', async (pageSize) => {
    const downloads = await downloadsOf(['a', 'b', 'c', 'd', 'e'], { days: 4, tokens: 60 });
    const { found, places } = await all(downloads, ['d', 'b', 'none'], pageSize);
    expect(found).toHaveLength(4 * 2 * 60);
    expect(found).toEqual([...found].sort());
    expect(new Set(found.map((text) => text.split(' ')[1]))).toEqual(new Set(['b', 'd']));
    for (const { repo } of places) expect(['b', 'd', 'none']).toContain(repo);
  });

  it('take a bounded number of reads for a page, and get on with each', async () => {
    const downloads = await downloadsOf(['b', 'c'], { days: 4, tokens: 1000 });
    const asked = vi.spyOn(downloads, 'days');
    const { found, places } = await all(downloads, ['a', 'z'], 5);
    expect(found).toEqual([]);
    // 40 foreign pages of 200. A place after one of them is the next repo of one's own: c is skipped with b.
    expect(asked.mock.calls.length).toBeLessThan(20);
    for (const { repo } of places) expect(['a', 'z']).toContain(repo);
  });
});
