import { describe, expect, it } from 'vitest';
import type { ByteRange } from '../../../../../lambda/core/store/rules/archive-store.ts';
import { SourceGoneError, type SourceObject } from '../../../../../lambda/core/store/rules/archive-store.ts';
import { s3Limits } from '../../../../../lambda/core/store/rules/store-kind.ts';
import { advanceExport } from '../../../../../lambda/subjects/exports/advance.ts';
import { cancelExport } from '../../../../../lambda/subjects/exports/start.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { ExportStack, exportPath } from '../../../../support/subjects/exports/export-stack.ts';
import { expectObjects } from './expect-archives.ts';

const advance = { ...exportPath, step: { kind: 'advance' } } as const;

/** An export of some objects, before its first step. */
async function begun(request: Parameters<ExportStack['start']>[0] = {}) {
  const stack = new ExportStack();
  await stack.storeMany(10, 900);
  await stack.start(request);
  stack.messages = [];
  return stack;
}

describe('the next step of an export', () => {
  it('that there is not is none', async () => {
    const { deps } = new ExportStack();
    expect(await advanceExport(deps, exportPath)).toBeUndefined();
  });

  it('tells in which state the export is then, and hands out its units', async () => {
    const stack = await begun();
    expect(await advanceExport(stack.deps, exportPath)).toBe('copying');
    const job = await stack.job();
    expect(job.leaseUntilMs).toBe(0);
    const step = { kind: 'unit', round: 1, state: 'copying', format: 'tar' };
    expect(stack.messages).toEqual(
      Array.from({ length: job.planned?.units ?? 0 }, (_, unit) => ({
        ...exportPath,
        step: { ...step, unit },
      })),
    );
  });

  it('hands out again what is still to be done, and nothing else', async () => {
    const stack = await begun();
    await advanceExport(stack.deps, exportPath);
    const units = stack.messages.splice(0);
    await stack.jobs.change(exportPath, (job) => ({ ...job, doneUnits: '3' }));
    expect(await advanceExport(stack.deps, exportPath)).toBe('copying');
    expect(stack.messages).toEqual(units.slice(2));
  });

  it('of a zip whose units left no CRC-32s is the same again', async () => {
    const stack = await begun({ format: 'zip' });
    await advanceExport(stack.deps, exportPath);
    const units = stack.messages.splice(0);
    await stack.jobs.change(exportPath, (job) => ({ ...job, doneUnits: 'ffff' }));
    expect(await advanceExport(stack.deps, exportPath)).toBe('copying');
    expect(stack.messages).toEqual(units);
    expect(await stack.job()).toMatchObject({ round: 1, doneUnits: '' });
  });

  it('of a zip that is small makes all of it', async () => {
    const plan = { cellBytes: 200, uploadBytesMax: 50_000, copyBytesMax: 700, shardBytesMax: 100_000 };
    const stack = new ExportStack({ settings: { plan } });
    const stored = await stack.storeMany(3, 50);
    await stack.start({ format: 'zip' });
    expect(await stack.run()).toMatchObject({ planned: { units: 0 } });
    await expectObjects(stack, stored);
  });

  it('plans anew if the order of the last parts of a zip is gone', async () => {
    const stack = await begun({ format: 'zip' });
    stack.messages = [advance];
    await stack.deliver();
    await stack.archives.delete((await stack.left()).filter((key) => key.endsWith('/zip/last-0.json')));
    const { log, entries } = recordingLog();
    Object.assign(stack.deps, { log });
    expect(await stack.run()).toMatchObject({ state: 'done', round: 2 });
    const fields = { ...exportPath, round: 1, reason: 'order gone' };
    expect(entries).toContainEqual({ level: 'warn', message: 'export not complete', fields });
  });

  it('fails, and names the object, if one of the last parts of a zip is gone', async () => {
    const stack = new ExportStack();
    const oid = await stack.store('app', Buffer.from('an object'));
    await stack.start({ format: 'zip' });
    await stack.deliver();
    await stack.archives.delete([`acme/app/${oid}`]);
    await stack.deliver();
    expect(await stack.job()).toMatchObject({ state: 'planning', round: 2 });
    const message = expect.stringContaining(`The object acme/app/${oid} was deleted, lost or damaged`);
    expect(await stack.run()).toMatchObject({ state: 'failed', failure: { message } });
  });

  it('is tried again if the store does not answer for the last parts of a zip, and nothing is planned anew', async () => {
    const stack = await begun({ format: 'zip' });
    await advanceExport(stack.deps, exportPath);
    await stack.jobs.change(exportPath, (job) => ({ ...job, doneUnits: 'ffff' }));
    stack.archives.before = ({ name }) => {
      if (name === 'get') throw new Error('The store does not answer.');
    };
    await expect(advanceExport(stack.deps, exportPath)).rejects.toThrow('The store does not answer.');
    expect(await stack.job()).toMatchObject({
      state: 'copying',
      round: 1,
      doneUnits: 'ffff',
      leaseUntilMs: 0,
    });
  });

  it('fails the export once it takes longer than it may', async () => {
    const stack = await begun();
    stack.clock.advance(stack.deps.exportSettings.limitMs - 1);
    expect(await advanceExport(stack.deps, exportPath)).toBe('copying');
    stack.clock.advance(1);
    expect(await advanceExport(stack.deps, exportPath)).toBe('failed');
    const message = 'The export took too long. Export repos individually, and large objects as tar.';
    expect(await stack.job()).toMatchObject({
      failure: { reason: 'timeout', message },
      endedAtMs: stack.clock.nowMs(),
      isTidy: true,
    });
    expect([await stack.left(), stack.archives.openUploads]).toEqual([[], []]);
  });

  it('removes an archive once it has been kept for long enough, and not before', async () => {
    const stack = await begun();
    stack.messages = [advance];
    const { expiresAtMs } = await stack.run();
    expect(expiresAtMs).toBe(stack.clock.nowMs() + stack.deps.exportSettings.keepMs);
    stack.clock.advance(stack.deps.exportSettings.keepMs - 1);
    expect(await advanceExport(stack.deps, exportPath)).toBe('done');
    expect(await stack.left()).toHaveLength(1);
    stack.clock.advance(1);
    expect(await advanceExport(stack.deps, exportPath)).toBe('expired');
    expect(await stack.job()).toMatchObject({ state: 'expired', isTidy: true });
    expect(await stack.left()).toEqual([]);
  });

  it('removes what is left of an export that has ended, also by a clock that is behind', async () => {
    const stack = await begun();
    const expiresAtMs = stack.clock.nowMs() + 5;
    await stack.jobs.change(exportPath, (job) => ({ ...job, state: 'failed', isTidy: true, expiresAtMs }));
    await stack.archives.put('_exports/acme/first/work/1/made/0', Buffer.from('late'));
    expect(await advanceExport(stack.deps, exportPath)).toBe('failed');
    expect(await stack.left()).toEqual([]);
  });

  it('removes an archive once, if it is cancelled at the same time', async () => {
    const stack = await begun();
    stack.messages = [advance];
    await stack.run();
    stack.clock.advance(stack.deps.exportSettings.keepMs);
    let ended: unknown;
    const exportJobs: typeof stack.deps.exportJobs = Object.create(stack.deps.exportJobs);
    let changes = 0;
    exportJobs.change = async (path, change) => {
      changes += 1;
      // The first change takes the lease.
      if (changes === 2) {
        await cancelExport(stack.deps, exportPath);
        await advanceExport(stack.deps, exportPath);
        ended = await stack.job();
      }
      return stack.deps.exportJobs.change(path, change);
    };
    expect(await advanceExport({ ...stack.deps, exportJobs }, exportPath)).toBe('expired');
    expect(ended).toMatchObject({ state: 'expired', isTidy: true });
    expect(await stack.job()).toEqual(ended);
  });

  it('of an archive that is done and not yet tidy removes the work alone', async () => {
    const stack = await begun();
    stack.messages = [advance];
    await stack.run();
    const work = '_exports/acme/first/work/1/made/0';
    await stack.archives.put(work, Buffer.from('left'));
    const writes = (await stack.job()).version;
    expect(await advanceExport(stack.deps, exportPath)).toBe('done');
    // It is tidy, so nobody looks.
    expect(await stack.left()).toContain(work);
    expect((await stack.job()).version).toBe(writes);
    await stack.jobs.change(exportPath, (job) => ({ ...job, isTidy: false }));
    stack.clock.advance(5);
    expect(await advanceExport(stack.deps, exportPath)).toBe('done');
    expect(await stack.left()).toHaveLength(1);
    expect(await stack.job()).toMatchObject({ isTidy: true, movedAtMs: stack.clock.nowMs() });
  });

  it('lets another function go on at once if the store does not answer', async () => {
    const stack = await begun();
    stack.archives.before = ({ name }) => {
      if (name === 'putSource') throw new Error('The store does not answer.');
    };
    await expect(advanceExport(stack.deps, exportPath)).rejects.toThrow('The store does not answer.');
    expect(await stack.job()).toMatchObject({ state: 'planning', leaseUntilMs: 0 });
  });

  it('removes what it has made if the export was cancelled meanwhile', async () => {
    const stack = await begun();
    stack.archives.before = async ({ name }) => {
      if (name === 'putSource') await cancelExport(stack.deps, exportPath);
    };
    expect(await advanceExport(stack.deps, exportPath)).toBe('cancelled');
    expect([await stack.left(), stack.archives.openUploads]).toEqual([[], []]);
    expect(stack.messages).toEqual([advance]);
  });
});

it('the archives of an export are numbered from 1, and say how many they are', async () => {
  const limits = { ...s3Limits, partBytesMin: 200, partBytesMax: 100_000, objectBytesMax: 20_000 };
  const stack = new ExportStack({ settings: { limits } });
  for (const text of ['a', 'b', 'c']) await stack.store('app', Buffer.alloc(12_000, text));
  await stack.start();
  await advanceExport(stack.deps, exportPath);
  const keys = (await stack.job()).planned?.volumes.map(({ key }) => key);
  expect(keys).toEqual([1, 2, 3].map((number) => `_exports/acme/first/1/acme-${number}-of-3.tar`));
});

describe('an export whose objects vanish', () => {
  it('fails, names one, and leaves nothing', async () => {
    const stack = await begun();
    await advanceExport(stack.deps, exportPath);
    const { objects } = stack.archives;
    const keys: string[] = [];
    for await (const page of stack.archives.list('acme/app/')) keys.push(...page);
    const sized = keys.map((key) => ({ key, sizeBytes: objects.versionOf(key)?.sizeBytes ?? 0 }));
    const gone = sized.sort((a, b) => b.sizeBytes - a.sizeBytes)[0]?.key ?? '';
    await stack.archives.delete([gone]);
    const job = await stack.run();
    expect(job).toMatchObject({ state: 'failed', round: 2, failure: { reason: 'objects-vanish' } });
    expect(job.failure?.message).toContain(`The object ${gone} was deleted, lost or damaged`);
    expect([
      (await stack.left()).filter((key) => key.startsWith('_exports/')),
      stack.archives.openUploads,
    ]).toEqual([[], []]);
    expect(await stack.deps.failures.list()).toMatchObject([{ kind: 'export', exportId: job.exportId }]);
  });

  it.each(['tar', 'zip'] as const)(
    'for every read, though the store lists one, fails and names it: %s',
    async (format) => {
      const stack = new ExportStack();
      const oid = await stack.store('app', Buffer.from('an object'));
      await stack.start({ format });
      const key = `acme/app/${oid}`;
      const { archives } = stack;
      const { readInto, copyPart } = archives;
      const refuse = (source: SourceObject) => {
        if (source.key === key) throw new SourceGoneError(source);
      };
      archives.readInto = async (...args) => {
        refuse(args[0]);
        return readInto.apply(archives, args);
      };
      archives.copyPart = async (...args) => {
        refuse(args[1].source);
        return copyPart.apply(archives, args);
      };
      const job = await stack.run();
      expect(job).toMatchObject({ state: 'failed', round: 3, failure: { reason: 'objects-vanish' } });
      expect(job.failure?.message).toContain(key);
    },
  );

  it('each time fails after the third round', async () => {
    const stack = await begun();
    for (let round = 1; round <= 3; round += 1) {
      await advanceExport(stack.deps, exportPath);
      stack.messages = stack.messages.filter(({ step }) => step.kind === 'unit');
      const orders = (await stack.left()).filter((key) => key.includes('/copying/'));
      await stack.archives.delete(orders);
      await stack.deliver();
      expect(await stack.job()).toMatchObject(
        round < 3 ? { state: 'planning', round: round + 1 } : { state: 'failed', round: 3 },
      );
      stack.messages = [];
    }
    expect((await stack.job()).failure?.reason).toBe('objects-vanish');
  });

  it.each([
    ['a HEAD returns nothing.', { head: undefined }],
    ['a HEAD returns "c".', { head: { etag: '"c"', sizeBytes: 1 } }],
    ['a HEAD returns "b".', { head: { etag: '"b"', sizeBytes: 1 } }],
  ])('says what the store says of them: %s', async (says, { head }) => {
    const stack = await begun();
    stack.messages = [advance];
    const { archives } = stack;
    const gone = (source: SourceObject) => new SourceGoneError({ ...source, etag: '"b"' });
    const [headOwn, readOwn] = [archives.head.bind(archives), archives.readInto.bind(archives)];
    Object.assign(archives, {
      readInto: (source: SourceObject, ...into: [ByteRange, Uint8Array]) =>
        source.key.startsWith('acme/') ? Promise.reject(gone(source)) : readOwn(source, ...into),
      copyPart: (_: unknown, { source }: { source: SourceObject }) => Promise.reject(gone(source)),
      head: (key: string) => (key.startsWith('acme/') ? Promise.resolve(head) : headOwn(key)),
    });
    const { failure } = await stack.run();
    expect(failure).toMatchObject({ reason: 'objects-vanish' });
    expect(failure?.message).toContain(says);
    expect(failure?.message).toMatch(/the ETag "b" of acme\/app\/[0-9a-f]{64}, as listed/);
  });
});

describe('an export that cannot be planned', () => {
  it.each([{ format: 'tar' }, { format: 'zip' }, { isDryRun: true }] as const)(
    'fails, and says why: %j',
    async (request) => {
      const limits = { ...s3Limits, partBytesMin: 200, partBytesMax: 100_000, objectBytesMax: 10_000 };
      const stack = new ExportStack({ settings: { limits } });
      const oid = await stack.store('app', Buffer.alloc(20_000));
      await stack.start(request);
      const job = await stack.run();
      expect(job).toMatchObject({
        state: 'failed',
        failure: {
          reason: 'object-too-large',
          message: `The object ${oid} is larger than an archive can be.`,
        },
      });
      expect([await stack.left(), stack.archives.openUploads]).toEqual([[], []]);
    },
  );

  it('as it has too many objects says how many it may have', async () => {
    const stack = new ExportStack({ settings: { objectsMax: 1234 } });
    for (let index = 0; index < 1235; index += 1)
      stack.archives.objects.putVersion(`acme/app/${index.toString(16).padStart(64, '0')}`, {
        sizeBytes: 1,
        etag: 'e',
      });
    await stack.start();
    const message = 'There are more than 1,234 objects. Export repos individually.';
    expect(await stack.run()).toMatchObject({ failure: { reason: 'too-many-objects', message } });
  });
});
