import { expect, it } from 'vitest';
import {
  allExports,
  listExports,
  placeHolders,
  readExport,
} from '../../../../../lambda/use-cases/exports/list-exports.ts';
import { exportIdOf, exportWorld, putJob } from './export-world.ts';

const sees = () => true;

it.each([
  { pageSize: 1, pages: [[5], [4], [3], [2], [1]] },
  { pageSize: 2, pages: [[5, 4], [3, 2], [1]] },
  {
    pageSize: 3,
    pages: [
      [5, 4, 3],
      [2, 1],
    ],
  },
])('exports are listed in pages of $pageSize, the newest first', async ({ pageSize, pages: expected }) => {
  const { deps, owner } = await exportWorld();
  for (let index = 1; index <= 5; index += 1) await putJob(deps, { exportId: exportIdOf(index) });
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const page = await listExports(deps, { owner, sees, pageSize, ...(cursor !== null && { cursor }) });
    pages.push(page.jobs.map(({ exportId }) => exportId));
    cursor = page.nextCursor;
  } while (cursor !== null);
  expect(pages).toEqual(expected.map((page) => page.map(exportIdOf)));
});

it('an export that is older than its tenant is not shown', async () => {
  const { deps, owner } = await exportWorld();
  const earliestMs = owner.createdAtMs - deps.settings.clockSkewMs;
  for (let index = 1; index <= 3; index += 1)
    await putJob(deps, { exportId: exportIdOf(index), createdAtMs: earliestMs - 1 });
  // The clock of the function that began it may be behind that of the one which created the tenant.
  await putJob(deps, { exportId: exportIdOf(4), createdAtMs: earliestMs });
  const { jobs, nextCursor } = await listExports(deps, { owner, sees, pageSize: 2 });
  expect([jobs.map(({ exportId }) => exportId), nextCursor]).toEqual([[exportIdOf(4)], null]);
  expect(await readExport(deps, { owner, exportId: exportIdOf(3) })).toBeUndefined();
  expect(await readExport(deps, { owner, exportId: exportIdOf(4) })).toMatchObject({
    exportId: exportIdOf(4),
  });
  expect(await readExport(deps, { owner, exportId: exportIdOf(5) })).toBeUndefined();
});

it('a reader who sees some of them gets full pages, and cursors of what they see', async () => {
  const { deps, owner } = await exportWorld();
  for (let index = 1; index <= 250; index += 1) await putJob(deps, { exportId: exportIdOf(index) });
  const seen = [2, 3, 249].map(exportIdOf);
  const page = (cursor?: string) =>
    listExports(deps, {
      owner,
      sees: ({ exportId }) => seen.includes(exportId),
      pageSize: 2,
      ...(cursor !== undefined && { cursor }),
    });
  const first = await page();
  expect([first.jobs.map(({ exportId }) => exportId), first.nextCursor]).toEqual([
    [exportIdOf(249), exportIdOf(3)],
    exportIdOf(3),
  ]);
  const second = await page(exportIdOf(3));
  expect([second.jobs.map(({ exportId }) => exportId), second.nextCursor]).toEqual([[exportIdOf(2)], null]);
});

it('all exports are read, however many pages they have', async () => {
  const { deps } = await exportWorld();
  for (let index = 0; index < 250; index += 1) await putJob(deps, { exportId: exportIdOf(index) });
  const ids = new Set<string>();
  for await (const { exportId } of allExports(deps, 'acme')) ids.add(exportId);
  expect(ids.size).toBe(250);
});

it('places are held by exports that are made or kept, until they expire', async () => {
  const { deps, clock } = await exportWorld();
  const expiresAtMs = clock.nowMs() + 10;
  await putJob(deps, { exportId: exportIdOf(1), expiresAtMs });
  await putJob(deps, { exportId: exportIdOf(2), expiresAtMs, state: 'done' });
  await putJob(deps, { exportId: exportIdOf(3), expiresAtMs, state: 'failed' });
  await putJob(deps, { exportId: exportIdOf(4), expiresAtMs, state: 'explained' });
  const holders = async () => (await placeHolders(deps, 'acme')).map(({ exportId }) => exportId);
  expect(await holders()).toEqual([exportIdOf(2), exportIdOf(1)]);
  clock.advance(10);
  expect(await holders()).toEqual([]);
});
