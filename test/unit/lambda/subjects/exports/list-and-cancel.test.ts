import { describe, expect, it } from 'vitest';
import type { ExportState } from '../../../../../lambda/subjects/exports/rules/job.ts';
import {
  allExports,
  cancelExport,
  cancelExportsOf,
  listExports,
  placeHolders,
  readExport,
} from '../../../../../lambda/subjects/exports/start.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { exportIdOf, exportWorld, jobOf, putJob } from './export-world.ts';

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

describe('an export that is deleted', () => {
  it.each<{ before: ExportState; after: ExportState }>([
    { before: 'planning', after: 'cancelled' },
    { before: 'copying', after: 'cancelled' },
    { before: 'done', after: 'expired' },
  ])('was $before and is $after, and what it stores is removed by a step', async ({ before, after }) => {
    const { deps, clock, messages } = await exportWorld();
    const job = await putJob(deps, { state: before, isTidy: before === 'done' });
    clock.advance(5);
    const nowMs = clock.nowMs();
    const ended = { state: after, endedAtMs: nowMs, expiresAtMs: nowMs, isTidy: false };
    expect(await cancelExport(deps, job)).toMatchObject(ended);
    expect(messages).toEqual([{ tenant: 'acme', exportId: job.exportId, step: { kind: 'advance' } }]);
    // Its place is free, also by a clock that is behind.
    const options = { placesMax: 1, nowMs: nowMs - 1 };
    expect(await deps.exportJobs.create(jobOf(deps, { exportId: exportIdOf(9) }), options)).toBe('created');
  });

  it('stays as it is when it is deleted again, and the step is asked for again until it is done', async () => {
    const { deps, clock, messages } = await exportWorld();
    const job = await putJob(deps);
    const first = await cancelExport(deps, job);
    clock.advance(5);
    expect(await cancelExport(deps, job)).toEqual(first);
    expect(messages).toHaveLength(2);
    await deps.exportJobs.change(job, (now) => ({ ...now, isTidy: true }));
    await cancelExport(deps, job);
    expect(messages).toHaveLength(2);
  });

  it.each<ExportState>(['explained', 'failed'])('is left as it is if it is %s', async (state) => {
    const { deps, messages } = await exportWorld();
    const job = await putJob(deps, { state, isTidy: true });
    expect(await cancelExport(deps, job)).toEqual(job);
    expect(messages).toEqual([]);
  });

  it('is nothing if there is none', async () => {
    const { deps } = await exportWorld();
    expect(await cancelExport(deps, { tenant: 'acme', exportId: exportIdOf(1) })).toBeUndefined();
  });
});

describe('a delete', () => {
  const { request } = jobOf({ clock: new ManualClock() });
  const jobs = [
    { exportId: exportIdOf(1), request: { ...request, repo: 'game' } },
    { exportId: exportIdOf(2), request: { ...request, repo: 'other' }, state: 'copying' },
    { exportId: exportIdOf(3), request },
    { exportId: exportIdOf(4), request: { ...request, repo: 'game' }, state: 'done' },
    { exportId: exportIdOf(5), request, state: 'failed' },
    { exportId: exportIdOf(6), tenant: 'acme-2' },
  ] as const;

  async function statesAfter(path: { tenant: string; repo?: string }) {
    const { deps, messages } = await exportWorld();
    const put = [];
    for (const job of jobs) put.push(await putJob(deps, job));
    await cancelExportsOf(deps, path);
    const states = await Promise.all(put.map(async (job) => (await deps.exportJobs.read(job))?.state));
    const asked = messages.map(({ exportId, step }) => [exportId, step.kind]);
    return { states, asked };
  }

  it('of a repo cancels the open exports that contain it', async () => {
    const { states, asked } = await statesAfter({ tenant: 'acme', repo: 'game' });
    expect(states).toEqual(['cancelled', 'copying', 'cancelled', 'done', 'failed', 'planning']);
    expect(asked.sort()).toEqual([1, 3].map((index) => [exportIdOf(index), 'advance']));
  });

  it('of a tenant cancels all of them, and removes its archives', async () => {
    const { states, asked } = await statesAfter({ tenant: 'acme' });
    expect(states).toEqual(['cancelled', 'cancelled', 'cancelled', 'expired', 'failed', 'planning']);
    // And what older versions kept of it.
    const steps = [1, 2, 3, 4].map((index) => [exportIdOf(index), 'advance']);
    expect(asked.sort()).toEqual([...steps, ['crc32', 'forget']]);
  });
});
