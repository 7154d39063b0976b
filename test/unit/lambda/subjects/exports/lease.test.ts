import { expect, it } from 'vitest';
import { LeaseLostError } from '../../../../../lambda/core/rules/lease.ts';
import type { ExportJobs } from '../../../../../lambda/subjects/exports/job-store.ts';
import {
  abortUploads,
  deleteBelow,
  ExportBusyError,
  ExportLease,
  tidyUp,
} from '../../../../../lambda/subjects/exports/lease.ts';
import { type ExportState, newExportJob } from '../../../../../lambda/subjects/exports/rules/job.ts';
import { cancelExport } from '../../../../../lambda/subjects/exports/start.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { wholeTenant as request } from '../../../../support/subjects/exports/export-request.ts';
import { MemoryExportJobs } from '../../../../support/subjects/exports/in-memory.ts';
import { exportIdOf, exportWorld, jobOf, putJob } from './export-world.ts';

/** More than fit on a page, and one beside the prefix. */
const keys = ['a/1', 'a/2', 'a/b/3', 'a-1'];

it('aborts every upload below a prefix, and no other', async () => {
  const archives = new MemoryArchiveStore({ pageSize: 2 });
  for (const key of keys) await archives.createUpload(key);
  await abortUploads({ archives }, 'a/');
  expect(archives.openUploads.map(({ key }) => key)).toEqual(['a-1']);
});

it('deletes every object below a prefix, and no other', async () => {
  const archives = new MemoryArchiveStore();
  for (const key of keys) await archives.put(key, Buffer.from('x'));
  await deleteBelow({ archives }, 'a/');
  expect(archives.objects.objectCount).toBe(1);
});

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
    new ExportBusyError('Another worker plans or finishes this export.'),
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
  const lost = new LeaseLostError('It was canceled, or another worker continues it.');
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

const folder = `_exports/acme/${exportIdOf(0)}`;
const [work, archive] = [`${folder}/work/1/list`, `${folder}/1/acme.tar`];

/** An export in this state, with work, an archive and an upload in the store. */
async function exportThatIs(state: ExportState) {
  const archives = new MemoryArchiveStore();
  const { deps, messages } = await exportWorld({ archives });
  const job = await putJob(deps, { state });
  for (const key of [work, archive]) await archives.put(key, Buffer.from('bytes'));
  await archives.createUpload(archive);
  const left = async () => {
    const keys: string[] = [];
    for await (const page of archives.list('_exports/')) keys.push(...page);
    return { keys, uploads: archives.openUploads.length };
  };
  const next = () =>
    deps.exportJobs.create(jobOf(deps, { exportId: exportIdOf(1) }), {
      placesMax: 1,
      nowMs: job.expiresAtMs - 1,
    });
  return { deps, archives, messages, job, left, next };
}

it.each<ExportState>(['planning', 'copying'])(
  'an export that is %s keeps its work, its uploads and its place',
  async (state) => {
    const { deps, job, left, next } = await exportThatIs(state);
    expect(await tidyUp(deps, job)).toBe(state);
    expect(await left()).toEqual({ keys: [archive, work], uploads: 1 });
    expect(await deps.exportJobs.read(job)).toEqual(job);
    expect(await next()).toBe('full');
  },
);

it('an export that is done keeps its archive and its place, and nothing else', async () => {
  const { deps, job, left, next } = await exportThatIs('done');
  expect(await tidyUp(deps, job)).toBe('done');
  expect(await left()).toEqual({ keys: [archive], uploads: 0 });
  expect(await deps.exportJobs.read(job)).toMatchObject({ isTidy: true });
  expect(await next()).toBe('full');
});

it.each<ExportState>(['explained', 'failed', 'cancelled', 'expired'])(
  'an export that is %s keeps nothing: its place is free before it expires',
  async (state) => {
    const { deps, job, left, next } = await exportThatIs(state);
    expect(await tidyUp(deps, job)).toBe(state);
    expect(await left()).toEqual({ keys: [], uploads: 0 });
    expect(await next()).toBe('created');
  },
);

it('an export whose archive is deleted while its work is removed is tidied up again', async () => {
  const { deps, archives, messages, job, left } = await exportThatIs('done');
  archives.before = async ({ name }) => {
    if (name === 'delete') await cancelExport(deps, job);
  };
  expect(await tidyUp(deps, job)).toBe('expired');
  expect(await deps.exportJobs.read(job)).toMatchObject({ isTidy: false });
  expect(messages).toMatchObject([{ step: { kind: 'advance' } }]);
  archives.before = () => undefined;
  expect(await tidyUp(deps, job)).toBe('expired');
  expect(await left()).toEqual({ keys: [], uploads: 0 });
});

it('an export without a record has no state, also if its record goes while it is tidied up', async () => {
  const { deps, job, left } = await exportThatIs('failed');
  expect(await tidyUp(deps, { ...job, exportId: exportIdOf(7) })).toBeUndefined();
  expect(await left()).toEqual({ keys: [archive, work], uploads: 1 });
  deps.exportJobs.change = async () => undefined;
  expect(await tidyUp(deps, job)).toBeUndefined();
});
