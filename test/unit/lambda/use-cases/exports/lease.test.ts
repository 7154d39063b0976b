import { expect, it } from 'vitest';
import type { ExportJobs } from '../../../../../lambda/adapters/dynamodb/export-jobs.ts';
import { newExportJob } from '../../../../../lambda/domain/export/export-job.ts';
import {
  ExportBusyError,
  ExportLease,
  LeaseLostError,
} from '../../../../../lambda/use-cases/exports/lease.ts';
import { wholeTenant as request } from '../../../../support/export-request.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryExportJobs } from '../../../../support/memory/stores.ts';

const path = { tenant: 'acme', exportId: 'first' };

async function world() {
  const clock = new ManualClock();
  const jobs = new MemoryExportJobs();
  const nowMs = clock.nowMs();
  await jobs.create(newExportJob({ ...path, request, nowMs, limitMs: 1e9 }), { placesMax: 1, nowMs });
  return { clock, jobs };
}

it('is renewed by many requests at once, as pages are listed', async () => {
  const { clock, jobs } = await world();
  // A change is there before its answer.
  const late: Pick<ExportJobs, 'change' | 'read'> = {
    read: (each) => jobs.read(each),
    change: async (each, change) => {
      const changed = await jobs.change(each, change);
      for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
      return changed;
    },
  };
  const { lease } = await ExportLease.take({ clock, exportJobs: { ...jobs, ...late } as ExportJobs }, path);
  if (!lease) throw new Error('The export is open.');
  for (let page = 0; page < 3; page += 1) {
    clock.advance(30_000);
    const first = lease.renew();
    for (let turns = 0; turns < 5; turns += 1) await Promise.resolve();
    await Promise.all([first, lease.renew(), lease.renew()]);
  }
  await expect(ExportLease.take({ clock, exportJobs: jobs }, path)).rejects.toThrow(ExportBusyError);
  await lease.release();
  await ExportLease.take({ clock, exportJobs: jobs }, path);
});

/** A lease that was taken, and how often the record was written since. */
async function taken() {
  const { clock, jobs } = await world();
  const deps = { clock, exportJobs: jobs };
  const { lease, job } = await ExportLease.take(deps, path);
  if (!lease || !job) throw new Error('The export is open.');
  const read = async () => {
    const now = await jobs.read(path);
    if (!now) throw new Error('The job is gone.');
    return now;
  };
  const { version } = await read();
  return { clock, deps, jobs, job, lease, read, writes: async () => (await read()).version - version };
}

it('is that of an export that is open', async () => {
  const { deps, jobs } = await taken();
  expect(await ExportLease.take(deps, { ...path, exportId: 'none' })).toEqual({
    job: undefined,
    lease: undefined,
  });
  await jobs.change(path, (job) => ({ ...job, state: 'cancelled' }));
  expect(await ExportLease.take(deps, path)).toMatchObject({ job: { state: 'cancelled' }, lease: undefined });
});

it('ends after a minute without a sign of life', async () => {
  const { clock, deps, job } = await taken();
  expect(job).toMatchObject({ leaseUntilMs: clock.nowMs() + 60_000, movedAtMs: clock.nowMs() });
  clock.advance(59_999);
  await expect(ExportLease.take(deps, path)).rejects.toThrow(
    new ExportBusyError('Somebody else plans or finishes this export.'),
  );
  clock.advance(1);
  expect((await ExportLease.take(deps, path)).lease).toBeDefined();
});

it('is renewed once it is twenty seconds old', async () => {
  const { clock, lease, read, writes } = await taken();
  clock.advance(19_999);
  await lease.renew();
  expect(await writes()).toBe(0);
  clock.advance(1);
  await lease.renew();
  expect(await read()).toMatchObject({ leaseUntilMs: clock.nowMs() + 60_000, movedAtMs: clock.nowMs() });
  await lease.renew();
  expect(await writes()).toBe(1);
  clock.advance(20_000);
  await lease.renew();
  expect(await writes()).toBe(2);
});

it('is lost to whoever takes it later', async () => {
  const { clock, deps, lease, read } = await taken();
  clock.advance(60_000);
  const { lease: other } = await ExportLease.take(deps, path);
  const lost = new LeaseLostError('The export was cancelled, or somebody else goes on with it.');
  await expect(lease.renew()).rejects.toThrow(lost);
  await expect(lease.change((job) => ({ ...job, round: 9 }))).rejects.toThrow(lost);
  await expect(lease.end((job) => ({ ...job, round: 9 }))).rejects.toThrow(lost);
  await lease.release();
  expect(await read()).toMatchObject({ round: 1, leaseUntilMs: clock.nowMs() + 60_000 });
  await other?.change((job) => ({ ...job, round: 2 }));
  expect(await read()).toMatchObject({ round: 2 });
});

it('ends with a change, and is then not released again', async () => {
  const { lease, read, writes } = await taken();
  expect(await lease.end((job) => ({ ...job, round: 2 }))).toMatchObject({ round: 2, leaseUntilMs: 0 });
  expect(await read()).toMatchObject({ round: 2, leaseUntilMs: 0 });
  await lease.release();
  expect(await writes()).toBe(1);
});

it('has errors with names', () => {
  expect([new ExportBusyError('').name, new LeaseLostError('').name]).toEqual([
    'ExportBusyError',
    'LeaseLostError',
  ]);
});
