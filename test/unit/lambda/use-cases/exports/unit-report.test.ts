import { describe, expect, it } from 'vitest';
import { type ExportJob, noProgress } from '../../../../../lambda/domain/export/export-job.ts';
import { isWanted, UnitReport, type UnitStep } from '../../../../../lambda/use-cases/exports/unit-report.ts';
import { exportWorld, jobOf, plannedOf, putJob } from './export-world.ts';

const step: UnitStep = { kind: 'unit', round: 1, state: 'copying', unit: 1 };
const planned = plannedOf({ units: 4, volumes: [] });

/** A worker at a unit, and what was written of it. */
async function world(changes: Partial<ExportJob> = {}) {
  const { deps, clock } = await exportWorld();
  const path = await putJob(deps, { state: 'copying', planned, failingSinceMs: 7, ...changes });
  const report = new UnitReport(deps, path, step);
  const job = async () => {
    const now = await deps.exportJobs.read(path);
    if (!now) throw new Error('There is no job.');
    return now;
  };
  return { deps, clock, path, report, job };
}

describe('what a worker has done', () => {
  it('is written every three seconds, all of it at once', async () => {
    const { clock, report, job } = await world();
    await report.note({ uploadedBytes: 5, requests: 1 });
    clock.advance(2999);
    await report.note({ copiedBytes: 3, requests: 1 });
    expect(await job()).toMatchObject({ version: 1, progress: noProgress });
    clock.advance(1);
    await report.note({ hashedBytes: 2, requests: 1 });
    const first = { uploadedBytes: 5, copiedBytes: 3, hashedBytes: 2, requests: 3 };
    expect(await job()).toMatchObject({ version: 2, progress: first, movedAtMs: clock.nowMs() });
    clock.advance(2999);
    await report.note({ uploadedBytes: 1 });
    expect(await job()).toMatchObject({ version: 2 });
    clock.advance(1);
    await report.note({});
    expect(await job()).toMatchObject({ version: 3, progress: { ...first, uploadedBytes: 6 } });
  });

  it('by parts that end at the same time is one write', async () => {
    const { clock, report, job } = await world();
    clock.advance(3000);
    const notes = Promise.all([report.note({ requests: 1 }), report.note({ requests: 1 })]);
    clock.advance(3000);
    await Promise.all([notes, report.note({ requests: 1 })]);
    expect((await job()).version).toBe(2);
    await report.pause();
    expect(await job()).toMatchObject({ version: 3, progress: { requests: 3 } });
    clock.advance(3000);
    await report.note({ requests: 1 });
    expect(await job()).toMatchObject({ version: 4, progress: { requests: 4 } });
  });

  it('is written before it pauses, and leaves the unit open', async () => {
    const { clock, report, job } = await world();
    await report.note({ requests: 1 });
    clock.advance(5);
    await report.pause();
    expect(await job()).toMatchObject({
      progress: { requests: 1 },
      doneUnits: '',
      failingSinceMs: 7,
      movedAtMs: clock.nowMs(),
    });
    expect(report.isObsolete).toBe(false);
  });

  it('is written with the unit, which ends a series of failures', async () => {
    const { report, job } = await world({ doneUnits: '1' });
    await report.note({ requests: 1 });
    const finished = await report.finish((now) => ({ ...now, leaseUntilMs: 9 }));
    expect(finished).toMatchObject({ doneUnits: '3', leaseUntilMs: 9 });
    expect(await job()).toMatchObject({
      progress: { requests: 1 },
      doneUnits: '3',
      failingSinceMs: null,
      leaseUntilMs: 9,
    });
  });

  it.each<[string, Partial<ExportJob>]>([
    ['cancelled', { state: 'cancelled' }],
    ['planned anew', { round: 2 }],
    ['in another state', { state: 'hashing' }],
    ['one whose unit somebody else did', { doneUnits: '2' }],
  ])('for an export that is %s is not written, and nothing more is wanted of it', async (_, changes) => {
    const { deps, path, clock, report, job } = await world();
    const changed = await deps.exportJobs.change(path, (now) => ({ ...now, ...changes }));
    expect(isWanted(await job(), step)).toBe(false);
    clock.advance(3000);
    await report.note({ requests: 1 });
    expect(report.isObsolete).toBe(true);
    expect(await report.finish((now) => now)).toBeUndefined();
    expect(await job()).toEqual(changed);
  });

  it('for an export that is gone is not written', async () => {
    const { deps } = await world();
    const report = new UnitReport(deps, { tenant: 'acme', exportId: 'none' }, step);
    expect(await report.finish((now) => now)).toBeUndefined();
    expect(report.isObsolete).toBe(true);
  });
});

it('a unit is wanted in the round and state in which it was handed out, until it is done', () => {
  const clock = { nowMs: () => 5, sleep: async () => undefined };
  const job = jobOf({ clock }, { state: 'copying', planned, doneUnits: 'd' });
  expect(isWanted(job, step)).toBe(true);
  expect(isWanted(job, { ...step, unit: 0 })).toBe(false);
  expect(isWanted(job, { ...step, round: 2 })).toBe(false);
  expect(isWanted(job, { ...step, state: 'hashing' })).toBe(false);
});
