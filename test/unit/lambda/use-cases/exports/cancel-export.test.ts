import { describe, expect, it } from 'vitest';
import type { ExportState } from '../../../../../lambda/domain/export/export-job.ts';
import { cancelExport, cancelExportsOf } from '../../../../../lambda/use-cases/exports/cancel-export.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { exportIdOf, exportWorld, jobOf, putJob } from './export-world.ts';

describe('an export that is deleted', () => {
  it.each<{ before: ExportState; after: ExportState }>([
    { before: 'planning', after: 'cancelled' },
    { before: 'hashing', after: 'cancelled' },
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
