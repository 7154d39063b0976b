import { describe, expect, it } from 'vitest';
import {
  addProgress,
  dueAtMs,
  type ExportJob,
  endedJob,
  exportIdPattern,
  failedJob,
  isOpen,
  isUnitDone,
  newExportId,
  newExportJob,
  noProgress,
  openUnits,
  plannedAnew,
  withFailure,
  withSuccess,
  withUnitDone,
} from '../../../../../../lambda/subjects/exports/rules/job.ts';

it('ids sort by time, differ by chance, and are the same for the same input', () => {
  const times = [0, 1, 255, 256, 1_795_237_200_000, 1_795_237_200_001, 2 ** 47];
  const ids = times.map((nowMs) => newExportId({ nowMs, random: 'a' }));
  expect(ids.toReversed().sort()).toEqual(ids);
  for (const id of ids) expect(id).toMatch(exportIdPattern);
  expect(newExportId({ nowMs: 1, random: 'a' })).toBe(ids[1]);
  expect(newExportId({ nowMs: 1, random: 'b' })).not.toBe(ids[1]);
});

const minute = 60_000;
const nowMs = 1_800_000_000_000;
const job = newExportJob({
  tenant: 'acme',
  exportId: 'first',
  request: {
    repo: null,
    listedObjects: null,
    isNamed: false,
    format: 'tar',
    isDryRun: false,
  },
  nowMs,
  limitMs: 24 * 60 * minute,
});
const planned = (units: number): ExportJob['planned'] => ({
  way: 'stream',
  objectCount: 0,
  objectBytes: 0,
  missing: 0,
  conflicts: 0,
  figures: {
    archiveBytes: 0,
    throughBytes: 0,
    copiedBytes: 0,
    volumes: 1,
    shards: 0,
    gets: 0,
    uploads: 0,
    copies: 0,
    hashedBytes: 0,
  },
  requests: 0,
  dollars: 0,
  seconds: 0,
  units,
  volumes: [],
});

describe('the units of a job', () => {
  it('are done one by one, in any order', () => {
    let doneUnits = '';
    for (const unit of [7, 0, 801, 7]) {
      doneUnits = withUnitDone(doneUnits, unit);
      expect(isUnitDone({ doneUnits }, unit)).toBe(true);
    }
    const done = Array.from({ length: 1000 }, (_, unit) => unit).filter((unit) =>
      isUnitDone({ doneUnits }, unit),
    );
    expect(done).toEqual([0, 7, 801]);
    expect(doneUnits.length).toBe(201);
  });

  it('are open until then', () => {
    expect(openUnits({ planned: planned(3), doneUnits: withUnitDone('', 1) })).toEqual([0, 2]);
    expect(openUnits({ planned: planned(0), doneUnits: '' })).toEqual([]);
    expect(openUnits({ planned: null, doneUnits: '' })).toEqual([]);
  });
});

describe('a job is due', () => {
  it('while it is open, a while after something moved, and at its end', () => {
    expect(dueAtMs(job)).toBe(nowMs + 15 * minute);
    expect(dueAtMs({ ...job, state: 'copying', movedAtMs: job.endsByMs - minute })).toBe(job.endsByMs);
  });

  it('while it is not tidy', () => {
    expect(dueAtMs({ ...job, state: 'failed' })).toBe(nowMs + 5 * minute);
    expect(dueAtMs({ ...job, state: 'failed', isTidy: true })).toBeNull();
  });

  it('when its archive has been kept for long enough', () => {
    expect(dueAtMs({ ...job, state: 'done', isTidy: true, expiresAtMs: 5 })).toBe(5);
  });
});

describe('a job', () => {
  it('is open until it has ended, also where an older server tells of it', () => {
    const states = [
      'planning',
      'hashing',
      'copying',
      'done',
      'explained',
      'failed',
      'cancelled',
      'expired',
    ] as const;
    expect(states.filter((state) => isOpen({ state }))).toEqual(['planning', 'hashing', 'copying']);
  });

  it('that has ended lets nobody go on, and is to be tidied up', () => {
    const ended = endedJob({ ...job, leaseUntilMs: 9, isTidy: true }, { state: 'cancelled', nowMs: 7 });
    expect(ended).toMatchObject({
      state: 'cancelled',
      leaseUntilMs: 0,
      endedAtMs: 7,
      expiresAtMs: 7,
      movedAtMs: 7,
      isTidy: false,
    });
    expect(endedJob({ ...job, endedAtMs: 3 }, { state: 'expired', nowMs: 7 }).endedAtMs).toBe(3);
  });

  it('is planned anew from nothing, three times at most', () => {
    const copying: ExportJob = {
      ...job,
      state: 'copying',
      leaseUntilMs: 9,
      planned: planned(2),
      doneUnits: '1',
      progress: { ...noProgress, requests: 4 },
    };
    const why = 'upload gone';
    const again = plannedAnew(copying, { why, nowMs: 7 });
    expect(again).toEqual({ ...job, round: 2, movedAtMs: 7 });
    const third = plannedAnew(again, { why, nowMs: 8 });
    expect(third).toMatchObject({ state: 'planning', round: 3 });
    const failure = {
      reason: 'objects-vanish',
      message: 'The export started 3 times, and ended each time. Last reason: upload gone. Retry later.',
    };
    expect(plannedAnew(third, { why, nowMs: 9 })).toMatchObject({ state: 'failed', failure });
  });

  describe('of which a step fails', () => {
    const outage = { unit: null, why: 'SlowDown', isOutage: true };
    const refusal = { unit: 3, why: 'NotImplemented', isOutage: false };
    const afterFailures = (count: number, failed: typeof outage | typeof refusal, from: ExportJob = job) =>
      Array.from({ length: count }).reduce<ExportJob>(
        (now) => withFailure(now, { ...failed, nowMs: 7 }) ?? now,
        from,
      );

    it('fails after an hour of that', () => {
      const failing = afterFailures(1, outage);
      expect(failing).toMatchObject({ state: 'planning', failingSinceMs: 7 });
      const nowMs = 7 + 60 * minute;
      expect(withFailure(failing, { ...outage, nowMs: nowMs - 1 })?.state).toBe('planning');
      const message = 'One step failed for an hour. Last error: SlowDown. Retry later.';
      expect(withFailure(failing, { ...outage, nowMs })).toMatchObject({
        state: 'failed',
        failure: { reason: 'store', message },
      });
    });

    it('fails at the tenth of the same failures, unless the store or the table is down', () => {
      expect(afterFailures(9, refusal).state).toBe('planning');
      const message = 'One step failed 10 times in the same way: NotImplemented. Ask the operator.';
      expect(afterFailures(10, refusal).failure).toEqual({ reason: 'store', message });
      expect(afterFailures(100, outage).state).toBe('planning');
    });

    it('counts from one if the failure is another one, or the step has succeeded', () => {
      const nine = afterFailures(9, refusal);
      expect(afterFailures(9, { ...refusal, why: 'AccessDenied' }, nine).state).toBe('planning');
      expect(withSuccess(nine, 3)).toEqual({ ...job, failing: undefined });
      expect(withSuccess(nine, null)).toEqual({ ...job, failing: undefined });
    });

    it('counts though others succeed', () => {
      const nine = afterFailures(9, refusal);
      expect(afterFailures(1, refusal, withSuccess(nine, 4)).state).toBe('failed');
    });

    it('counts one step, however many fail at the same time', () => {
      const failing = afterFailures(1, refusal);
      expect(withFailure(failing, { ...refusal, unit: 4, nowMs: 8 })).toBeUndefined();
      const isDone = { ...failing, doneUnits: withUnitDone('', 3) };
      expect(withFailure(isDone, { ...refusal, unit: 4, nowMs: 8 })).toMatchObject({
        failingSinceMs: 8,
        failing: { unit: 4, times: 1 },
      });
    });

    it('goes on from what an older version has noted', () => {
      const older = { ...job, failingSinceMs: 7 };
      expect(withFailure(older, { ...outage, nowMs: 7 + 60 * minute })?.state).toBe('failed');
    });
  });

  it('that has failed says why', () => {
    const failure = { reason: 'timeout', message: 'Too long.' } as const;
    expect(failedJob(job, { failure, nowMs: 7 })).toMatchObject({ state: 'failed', failure });
  });

  it('adds up what its workers do', () => {
    const a = { uploadedBytes: 1, copiedBytes: 2, hashedBytes: 3, requests: 4 };
    expect(addProgress(a, { ...noProgress, copiedBytes: 5, requests: 1 })).toEqual({
      uploadedBytes: 1,
      copiedBytes: 7,
      hashedBytes: 3,
      requests: 5,
    });
  });
});
