import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { type AdvanceDeps, advanceExport } from '../../../../../lambda/subjects/exports/advance.ts';
import type { ExportMessage } from '../../../../../lambda/subjects/exports/messages.ts';
import { type ExportJob, noProgress } from '../../../../../lambda/subjects/exports/rules/job.ts';
import { cancelExport } from '../../../../../lambda/subjects/exports/start.ts';
import {
  isWanted,
  runExportStep,
  runUnit,
  UnitReport,
  type UnitStep,
} from '../../../../../lambda/subjects/exports/steps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { ExportStack, exportPath } from '../../../../support/subjects/exports/export-stack.ts';
import { exportWorld, jobOf, plannedOf, putJob } from './export-world.ts';

describe('run unit', () => {
  const advance: ExportMessage = { ...exportPath, step: { kind: 'advance' } };

  /** An export that is planned, and the messages of its units. */
  async function planned(format: 'tar' | 'zip' = 'tar') {
    const stack = new ExportStack();
    await stack.storeMany(20, 900);
    await stack.start({ format });
    await stack.deliver();
    const units = stack.messages.splice(0);
    expect(units.length).toBeGreaterThan(1);
    const run = (message: ExportMessage | undefined, secondsLeft = 300) => {
      if (!message) throw new Error('There is no such message.');
      return runExportStep(stack.deps, { message, deadlineMs: stack.clock.nowMs() + secondsLeft * 1000 });
    };
    return { stack, units, run };
  }

  describe('the last unit of an export', () => {
    it('completes the archive, and asks for nothing more', async () => {
      const { stack, units, run } = await planned();
      for (const unit of units.slice(1)) await run(unit);
      expect(stack.messages).toEqual([]);
      await run(units[0], 120);
      expect(await stack.job()).toMatchObject({ state: 'done', isTidy: true, leaseUntilMs: 0 });
      expect(stack.messages).toEqual([]);
    });

    it('that comes again removes what is left, if whoever completed the archive died before', async () => {
      const { stack, units, run } = await planned();
      for (const unit of units.slice(1)) await run(unit);
      stack.archives.list = () => {
        throw new Error('The function dies.');
      };
      await expect(run(units[0])).rejects.toThrow('The function dies.');
      Reflect.deleteProperty(stack.archives, 'list');
      expect(await stack.job()).toMatchObject({ state: 'done', isTidy: false });
      await run(units[0]);
      expect(await stack.job()).toMatchObject({ state: 'done', isTidy: true });
      expect(await stack.left()).toHaveLength(1);
    });

    it('leaves that to another worker if it has little time left', async () => {
      const { stack, units, run } = await planned();
      for (const unit of units) await run(unit, 119.999);
      expect(await stack.job()).toMatchObject({ state: 'copying', leaseUntilMs: 0 });
      expect(stack.messages).toEqual([advance]);
      await stack.run();
      expect(await stack.job()).toMatchObject({ state: 'done' });
    });

    it('leaves it to whoever is at it', async () => {
      const { stack, units, run } = await planned();
      for (const unit of units.slice(1)) await run(unit);
      const leaseUntilMs = stack.clock.nowMs() + 1;
      await stack.jobs.change(exportPath, (job) => ({ ...job, leaseUntilMs }));
      await run(units[0]);
      expect(await stack.job()).toMatchObject({ state: 'copying', leaseUntilMs });
      expect(stack.messages).toEqual([advance]);
    });

    it('that comes again asks for the next step, as whoever did it may have died before', async () => {
      const { stack, units, run } = await planned();
      for (const unit of units) await run(unit, 1);
      stack.messages = [];
      await run(units[0]);
      expect(stack.messages).toEqual([advance]);
    });
  });

  describe('a unit', () => {
    it('looks for parts only if some worker has told of one', async () => {
      const { stack, units, run } = await planned();
      await run(units[0]);
      expect(stack.archives.count('parts')).toBe(0);
      await run(units[1]);
      expect(stack.archives.count('parts')).toBeGreaterThan(0);
    });

    it('makes no part again that is there', async () => {
      const { stack, units, run } = await planned();
      await run(units[0]);
      await run(units[1]);
      const parts = () => stack.archives.count('uploadPart') + stack.archives.count('copyPart');
      const before = parts();
      await stack.jobs.change(exportPath, (job) => ({ ...job, doneUnits: '' }));
      await run(units[0]);
      await run(units[1]);
      expect(parts()).toBe(before);
    });

    it('of a zip makes a part again whose CRC-32s nobody has put down, and no other', async () => {
      const { stack, units, run } = await planned('zip');
      for (const unit of units.slice(1)) await run(unit);
      await stack.jobs.change(exportPath, (job) => ({ ...job, doneUnits: '' }));
      const uploads = () => stack.archives.count('uploadPart');
      const before = uploads();
      for (const unit of units.slice(1)) await run(unit);
      expect(uploads()).toBe(before);
      await stack.archives.delete((await stack.left()).filter((key) => key.includes('/crc32s/')));
      await stack.jobs.change(exportPath, (job) => ({ ...job, doneUnits: '' }));
      for (const unit of units.slice(1)) await run(unit);
      expect(uploads()).toBeGreaterThan(before);
    });

    it('whose order is gone makes all be planned anew', async () => {
      const { stack, units, run } = await planned();
      await stack.archives.delete((await stack.left()).filter((key) => key.endsWith('/copying/0.json')));
      await run(units.find(({ step }) => step.kind === 'unit' && step.unit === 0));
      expect(await stack.job()).toMatchObject({ state: 'planning', round: 2 });
      await stack.run();
      expect(await stack.job()).toMatchObject({ state: 'done', round: 2 });
    });

    it('whose time is over goes on later', async () => {
      const { stack, units, run } = await planned();
      await run(units[0], 0);
      expect(stack.messages).toEqual([units[0]]);
      expect(await stack.job()).toMatchObject({ doneUnits: '' });
    });
  });

  describe('what came of a unit', () => {
    /** Runs the first unit. */
    async function begun(format: 'tar' | 'zip' = 'tar') {
      const { stack, units } = await planned(format);
      const step = units[0]?.step;
      if (step?.kind !== 'unit') throw new Error('There is no unit.');
      const run = (more: Partial<AdvanceDeps> = {}, secondsLeft = 300) => {
        const deadlineMs = stack.clock.nowMs() + secondsLeft * 1000;
        return runUnit({ ...stack.deps, ...more }, { path: exportPath, step, deadlineMs });
      };
      return { stack, units, step, run };
    }
    /** Somebody cancels the export, and removes what is left of it, before the first call of this name. */
    const cancelBefore = (stack: ExportStack, name: string) => {
      stack.archives.before = async (call) => {
        if (call.name !== name) return;
        stack.archives.before = () => undefined;
        await cancelExport(stack.deps, exportPath);
        await advanceExport(stack.deps, exportPath);
        stack.messages = [];
      };
    };

    it('is that it is done, and nothing is read twice for that', async () => {
      const { stack, run } = await begun();
      let reads = 0;
      const exportJobs = Object.assign(Object.create(stack.deps.exportJobs), {
        read: (path: typeof exportPath) => {
          reads += 1;
          return stack.deps.exportJobs.read(path);
        },
      });
      expect(await run({ exportJobs })).toBe('done');
      expect(reads).toBe(1);
    });

    it('of an export that there is not is nothing', async () => {
      const { deps } = new ExportStack();
      const step = { kind: 'unit', round: 1, state: 'copying', unit: 0, format: 'tar' } as const;
      expect(await runUnit(deps, { path: exportPath, step, deadlineMs: 9e15 })).toBe('obsolete');
    });

    it('that comes again after all was removed is nothing, and nothing is looked for', async () => {
      const { stack, units, run } = await begun();
      stack.messages = units;
      await stack.run();
      const lists = stack.archives.count('list');
      expect(await run()).toBe('obsolete');
      expect(stack.archives.count('list')).toBe(lists);
    });

    it('of an export that was cancelled meanwhile is nothing, and nothing of it is left', async () => {
      const { stack, run } = await begun('zip');
      cancelBefore(stack, 'put');
      expect(await run()).toBe('obsolete');
      expect([await stack.left(), stack.archives.openUploads, stack.messages]).toEqual([[], [], []]);
    });

    it('of one that was cancelled before its time was over is nothing, and is not gone on with', async () => {
      const { stack, run } = await begun();
      stack.archives.before = async ({ name }) => {
        if (name !== 'uploadPart' && name !== 'copyPart') return;
        stack.archives.before = () => undefined;
        await cancelExport(stack.deps, exportPath);
        stack.clock.advance(300_000);
        stack.messages = [];
      };
      expect(await run()).toBe('obsolete');
      expect(stack.messages).toEqual([]);
    });

    it.each(['tar', 'zip'] as const)(
      'whose time is over before anything is made is nothing if the export was cancelled: no rest is asked for (%s)',
      async (format) => {
        const { stack, run } = await begun(format);
        // Its order was read.
        stack.archives.after = async ({ name }) => {
          if (name !== 'get') return;
          stack.archives.after = () => undefined;
          await cancelExport(stack.deps, exportPath);
          stack.messages = [];
        };
        expect(await run({}, 0)).toBe('obsolete');
        expect([await stack.left(), stack.archives.openUploads, stack.messages]).toEqual([[], [], []]);
      },
    );

    it.each(['tar', 'zip'] as const)(
      'whose time is over is a part of it: the rest is asked for (%s)',
      async (format) => {
        const { stack, units, run } = await begun(format);
        expect(await run({}, 0)).toBe('unfinished');
        expect(stack.messages).toEqual([units[0]]);
        expect(await stack.job()).toMatchObject({ doneUnits: '' });
        expect(await run()).toBe('done');
      },
    );

    it('whose time is over is no failure: two errors hours apart fail no export', async () => {
      const { stack, units, run } = await begun();
      const fail = () => {
        stack.archives.before = ({ name }) => {
          if (name === 'uploadPart' || name === 'copyPart') throw new StoreUnavailableError('503');
        };
        const [message] = units;
        if (!message) throw new Error('There is no unit.');
        const deadlineMs = stack.clock.nowMs() + 300_000;
        return runExportStep(stack.deps, { message, deadlineMs });
      };
      await expect(fail()).rejects.toThrow('503');
      stack.archives.before = () => undefined;
      stack.clock.advance(2 * 3_600_000);
      expect(await run({}, 0)).toBe('unfinished');
      await expect(fail()).rejects.toThrow('503');
      expect(await stack.job()).toMatchObject({ state: 'copying' });
    });

    it('is looked for if some worker has told of a copy alone', async () => {
      const { stack, run } = await begun();
      await stack.jobs.change(exportPath, (job) => ({
        ...job,
        progress: { ...job.progress, copiedBytes: 1, requests: 1 },
      }));
      await run();
      expect(stack.archives.count('parts')).toBeGreaterThan(0);
    });

    it('is unknown if the store does not answer: nothing is planned anew', async () => {
      const { stack, run } = await begun();
      const before = await stack.job();
      stack.archives.before = ({ name }) => {
        if (name === 'uploadPart' || name === 'copyPart') throw new StoreUnavailableError('503');
      };
      await expect(run()).rejects.toThrow('503');
      expect(await stack.job()).toEqual(before);
    });

    describe('whose order is gone', () => {
      const withoutOrder = async () => {
        const { stack, run, step } = await begun();
        const { log, entries } = recordingLog();
        await stack.archives.delete(
          (await stack.left()).filter((key) => key.endsWith(`/copying/${step.unit}.json`)),
        );
        stack.clock.advance(5);
        return { stack, run, log, entries };
      };

      it('is that all is planned anew, which is logged', async () => {
        const { stack, run, log, entries } = await withoutOrder();
        expect(await run({ log })).toBe('replanned');
        expect(await stack.job()).toMatchObject({ round: 2, movedAtMs: stack.clock.nowMs() });
        expect(stack.messages).toEqual([advance]);
        const error = expect.objectContaining({ message: 'The order of a unit is gone.' });
        const fields = { ...exportPath, round: 1, reason: 'The order of a unit is gone', error };
        expect(entries).toEqual([{ level: 'warn', message: 'export planned again', fields }]);
      });

      it('is nothing if the export is gone meanwhile', async () => {
        const { stack, run, log, entries } = await withoutOrder();
        const exportJobs = Object.assign(Object.create(stack.deps.exportJobs), {
          change: async () => undefined,
        });
        expect(await run({ log, exportJobs })).toBe('obsolete');
        expect([stack.messages, entries]).toEqual([[], []]);
      });
    });
  });
});

describe('unit report', () => {
  const step: UnitStep = { kind: 'unit', round: 1, state: 'copying', unit: 1, format: 'tar' };
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

    it('is written before it pauses, which leaves the unit open, and ends a series of failures', async () => {
      const { clock, report, job } = await world();
      await report.note({ requests: 1 });
      clock.advance(5);
      await report.pause();
      expect(await job()).toMatchObject({
        progress: { requests: 1 },
        doneUnits: '',
        failingSinceMs: null,
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
      ['in another state', { state: 'planning' }],
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
});
