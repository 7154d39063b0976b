import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { NoPartCopyError } from '../../../../../lambda/core/store/rules/archive-store.ts';
import { StoreRefusedError, StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { s3Limits } from '../../../../../lambda/core/store/rules/store-kind.ts';
import { ExportBusyError } from '../../../../../lambda/subjects/exports/lease.ts';
import type { ExportMessage } from '../../../../../lambda/subjects/exports/messages.ts';
import { runExportStep } from '../../../../../lambda/subjects/exports/steps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import {
  ExportStack,
  type ExportStackOptions,
  exportPath,
} from '../../../../support/subjects/exports/export-stack.ts';
import { archivesOf, expectObjects } from './expect-archives.ts';

const stores: readonly [string, ExportStackOptions][] = [
  ['parts of any size', { kind: 's3' }],
  ['parts of one size', { kind: 'r2' }],
  ['no copies', { kind: 'stream' }],
  ['shards', { kind: 's3', partsMax: 40 }],
  ['shards of parts of one size', { kind: 'r2', partsMax: 40 }],
  ['no CRC-32', { kind: 's3', tellsCrc32: false }],
];

describe('an export', () => {
  it.each(stores)('makes a tar of all objects: %s', async (_title, options) => {
    const stack = new ExportStack(options);
    const stored = await stack.storeMany(60, 1500, ['app', 'web']);
    await stack.start();
    const job = await stack.run();
    expect(job.planned).toMatchObject({ objectCount: stored.size, missing: 0, conflicts: 0 });
    expect(job.planned?.units).toBeGreaterThan(5);
    await expectObjects(stack, stored);
  });

  it.each(stores)('makes a zip of all objects: %s', async (_title, options) => {
    const stack = new ExportStack(options);
    const stored = await stack.storeMany(60, 1500, ['app', 'web']);
    await stack.start({ format: 'zip' });
    await stack.run();
    await expectObjects(stack, stored);
  });

  it.each(['tar', 'zip'] as const)('makes several archives if one is too large: %s', async (format) => {
    const limits = { ...s3Limits, partBytesMin: 200, partBytesMax: 100_000, objectBytesMax: 20_000 };
    const stack = new ExportStack({ settings: { limits } });
    const stored = new Map<string, Uint8Array>();
    for (const text of ['a', 'b', 'c']) {
      const bytes = Buffer.alloc(12_000, text);
      stored.set(await stack.store('app', bytes), bytes);
    }
    await stack.start({ format });
    expect((await stack.run()).planned?.volumes).toHaveLength(3);
    await expectObjects(stack, stored);
  });

  it('has only the objects of the repo that was asked for', async () => {
    const stack = new ExportStack();
    const stored = await stack.storeMany(20, 300, ['app']);
    await stack.store('web', Buffer.from('of another repo'));
    await stack.start({ repo: 'app' });
    await stack.run();
    await expectObjects(stack, stored);
  });

  it('has an object that lies in several repos once', async () => {
    const stack = new ExportStack();
    const bytes = Buffer.from('the same in both');
    const oid = await stack.store('app', bytes);
    await stack.store('web', bytes);
    await stack.start();
    await stack.run();
    await expectObjects(stack, new Map([[oid, bytes]]));
  });

  it('of nothing has a manifest alone', async () => {
    const stack = new ExportStack();
    await stack.start();
    await stack.run();
    const { files } = await archivesOf(stack);
    expect([...files.keys()]).toEqual(['lfs/export/manifest-1.json', 'lfs/export/index-1.txt']);
  });

  it.each([
    { repo: null, path: 'acme' },
    { repo: 'app', path: 'acme/app' },
  ])('says that it is of $path, and when it was begun, and its files are of then', async ({ repo, path }) => {
    const stack = new ExportStack();
    await stack.store('app', Buffer.from('an object'));
    const beganAtMs = stack.clock.nowMs();
    await stack.start({ repo });
    stack.clock.advance(3_600_000);
    await stack.run();
    const { files, archives } = await archivesOf(stack);
    const manifest = JSON.parse(Buffer.from(files.get('lfs/export/manifest-1.json') ?? []).toString());
    expect(manifest).toMatchObject({ path, startedAt: new Date(beganAtMs).toISOString() });
    const [archive] = archives.values();
    // The time of the first file in its head of a tar, in octal digits.
    const time = Buffer.from(archive ?? []).toString('latin1', 136, 147);
    expect(Number.parseInt(time, 8)).toBe(Math.floor(beganAtMs / 1000));
  });

  it.each([
    { repo: 'app', name: 'acme-app-files' },
    { repo: null, name: 'acme-files' },
  ])(
    'of listed objects has them under their names, and says which are missing: $repo',
    async ({ repo, name }) => {
      const stack = new ExportStack();
      const oid = await stack.store('app', Buffer.from('wanted'));
      await stack.store('app', Buffer.from('not wanted'));
      const absent = 'f'.repeat(64);
      const work = '_exports/acme/first/work/request.json';
      const listed = [{ oid, name: 'folder/a.bin' }, { oid: absent }];
      await stack.archives.put(work, Buffer.from(JSON.stringify(listed)));
      await stack.start({ repo, listedObjects: 2, isNamed: true });
      await stack.run();
      const { files, job } = await archivesOf(stack);
      expect(Buffer.from(files.get('folder/a.bin') ?? []).toString()).toBe('wanted');
      expect(files.size).toBe(3);
      const manifest = JSON.parse(Buffer.from(files.get('lfs/export/manifest-1.json') ?? []).toString());
      expect(manifest).toMatchObject({ objects: 1, missing: [{ oid: absent, sizeBytes: null }] });
      expect(job.planned?.missing).toBe(1);
      expect(job.planned?.volumes).toMatchObject([{ key: `_exports/acme/first/1/${name}.tar` }]);
    },
  );

  it('of more objects than it may have fails, and leaves nothing behind', async () => {
    const stack = new ExportStack({ settings: { objectsMax: 10 } });
    for (let index = 0; index < 11; index += 1) await stack.store('app', Buffer.from(`object ${index}`));
    await stack.start();
    expect(await stack.run()).toMatchObject({
      state: 'failed',
      failure: { reason: 'too-many-objects' },
      isTidy: true,
    });
    expect(await stack.left()).toEqual([]);
    // Whoever asked for it is told. It is no failure of the service.
    expect(await stack.deps.failures.list()).toEqual([]);
  });

  it('that takes too long fails, and is noted for the operator', async () => {
    const stack = new ExportStack();
    await stack.store('app', Buffer.from('object'));
    await stack.start();
    await stack.jobs.change(exportPath, (job) => ({ ...job, endsByMs: 1 }));
    expect(await stack.run()).toMatchObject({ state: 'failed', failure: { reason: 'timeout' } });
    expect(await stack.deps.failures.list()).toMatchObject([
      { ...exportPath, kind: 'export', tries: 1, why: 'export' },
    ]);
  });

  it('whose steps fail for an hour fails, and is noted for the operator, once', async () => {
    const stack = new ExportStack();
    await stack.store('app', Buffer.from('object'));
    await stack.start();
    const { deps } = stack;
    const down = () => Promise.reject(new StoreUnavailableError('The store is down.'));
    const listing = { listPage: down, listFolders: down };
    const input = {
      message: { ...exportPath, step: { kind: 'advance' } },
      deadlineMs: deps.clock.nowMs() + 60_000,
    } as const;
    await expect(runExportStep({ ...deps, listing }, input)).rejects.toThrow('The store is down.');
    expect(await deps.failures.list()).toEqual([]);
    await stack.jobs.change(exportPath, (job) => ({
      ...job,
      failingSinceMs: deps.clock.nowMs() - 3_600_000,
    }));
    await runExportStep({ ...deps, listing }, input);
    expect((await stack.jobs.read(exportPath))?.state).toBe('failed');
    expect(await stack.run()).toMatchObject({ state: 'failed', isTidy: true });
    expect(await deps.failures.list()).toMatchObject([{ ...exportPath, kind: 'export', why: 'export' }]);
  });

  it('that is planned has succeeded: failures before that are no reason to give up', async () => {
    const stack = new ExportStack();
    await stack.store('app', Buffer.from('object'));
    await stack.start();
    await stack.jobs.change(exportPath, (job) => ({ ...job, failingSinceMs: stack.clock.nowMs() }));
    await stack.deliver();
    expect(await stack.job()).toMatchObject({ state: 'copying', failingSinceMs: null });
  });

  it('that failed asks for what comes next though the table does not take the note', async () => {
    const stack = new ExportStack();
    await stack.store('app', Buffer.from('object'));
    await stack.start();
    const { deps } = stack;
    const failingSinceMs = deps.clock.nowMs() - 3_600_000;
    await stack.jobs.change(exportPath, (job) => ({ ...job, failingSinceMs }));
    const down = () => Promise.reject(new StoreUnavailableError('The store is down.'));
    const step = { ...exportPath, step: { kind: 'advance' } } as const;
    const isSent = new Promise<boolean>((resolve) => {
      void runExportStep(
        {
          ...deps,
          listing: { listPage: down, listFolders: down },
          failures: { ...deps.failures, note: () => new Promise<never>(() => {}) },
          exportQueue: { isOn: true, send: async (messages) => resolve(messages.length === 1) },
        },
        { message: step, deadlineMs: deps.clock.nowMs() + 60_000 },
      );
    });
    expect(await Promise.race([isSent, setTimeout(100, false)])).toBe(true);
  });

  it('that is a dry run tells what each way takes, and leaves nothing behind', async () => {
    const stack = new ExportStack();
    const stored = await stack.storeMany(30, 900);
    const objectBytes = [...stored.values()].reduce((sum, { length }) => sum + length, 0);
    await stack.start({ isDryRun: true });
    const job = await stack.run();
    expect(job).toMatchObject({
      state: 'explained',
      isTidy: true,
      planned: { way: 'copy-free', objectCount: 30, objectBytes, units: 0, volumes: [] },
      endedAtMs: stack.clock.nowMs(),
      // So long it is shown.
      expiresAtMs: stack.clock.nowMs() + stack.deps.exportSettings.keepMs,
    });
    expect(await stack.left()).toEqual([]);
  });
});

describe('an export from a store that copies no parts, which nobody knew', () => {
  const formats = ['tar', 'zip'] as const;
  const kinds = ['s3', 'r2'] as const;
  it.each(formats.flatMap((format) => kinds.map((kind) => ({ format, kind }))))(
    'has all objects, uploaded, and says so once: $format $kind',
    async ({ format, kind }) => {
      const stack = new ExportStack({ kind, partsMax: 40 });
      const { log, entries } = recordingLog();
      Object.assign(stack.deps, { log });
      const { before } = stack.archives;
      stack.archives.before = (call) => {
        if (call.name === 'copyPart') throw new NoPartCopyError('The store copies no parts');
        return before(call);
      };
      const stored = await stack.storeMany(60, 1500);
      await stack.start({ format });
      const { round, planned } = await stack.run();
      expect([round, planned?.way]).toEqual([2, 'stream']);
      await expectObjects(stack, stored);
      const warnings = entries.filter(({ level }) => level !== 'info');
      const fields = expect.objectContaining({ round: 1, reason: 'The store copies no parts' });
      expect(warnings).toEqual([{ level: 'warn', message: 'export planned again', fields }]);
    },
  );
});

describe('an export of which one unit always fails', () => {
  const refusal = new StoreRefusedError('The store rejected GetObject with 403 AccessDenied: check it.');
  const outage = new StoreUnavailableError('The store did not serve GetObject (503 SlowDown).');

  it.each([
    [
      'by a refusal',
      refusal,
      10,
      'One step failed 10 times in the same way: The store rejected GetObject with 403 AccessDenied. Ask the operator.',
    ],
    [
      'by an outage',
      outage,
      60,
      'One step failed for an hour. Last error: The store did not serve GetObject (503 SlowDown). Retry later.',
    ],
  ])('ends %s though all others succeed, and says why', async (_title, error, timesMax, message) => {
    const stack = new ExportStack();
    await stack.storeMany(60, 1500);
    await stack.start();
    await stack.deliver();
    const units = stack.messages.length;
    expect(units).toBeGreaterThan(5);
    const { before } = stack.archives;
    let failed = 0;
    for (let steps = 0; (await stack.job()).state === 'copying'; steps += 1) {
      if (steps > 500) throw new Error('It does not end.');
      const [next] = stack.messages;
      const isBad = next?.step.kind === 'unit' && next.step.unit === 2;
      stack.archives.before = (call) => {
        if (isBad && call.name === 'get') throw error;
        return before(call);
      };
      await stack.deliver().catch((thrown: unknown) => {
        expect(thrown).toBe(error);
        failed += 1;
        stack.clock.advance(62_000);
      });
    }
    stack.archives.before = before;
    expect(failed).toBeLessThanOrEqual(timesMax);
    expect(await stack.run()).toMatchObject({ state: 'failed', failure: { reason: 'store', message } });
    expect(await stack.deps.failures.list()).toMatchObject([{ kind: 'export', why: 'export' }]);
    expect(await stack.left()).toEqual([]);
  });
});

describe('a step of an export', () => {
  const message: ExportMessage = { ...exportPath, step: { kind: 'advance' } };
  const hourMs = 3_600_000;

  /** An export that has begun, whose listings take a second, and fail while there is an error. */
  async function world() {
    const stack = new ExportStack();
    await stack.storeMany(3, 300);
    await stack.start();
    stack.messages = [];
    const broken: { error?: unknown } = {};
    const { log, entries } = recordingLog();
    const listing: typeof stack.deps.listing = {
      listFolders: (request) => stack.deps.listing.listFolders(request),
      listPage: async (request) => {
        stack.clock.advance(1000);
        if (broken.error !== undefined) throw broken.error;
        return stack.deps.listing.listPage(request);
      },
    };
    const deps = { ...stack.deps, listing, log };
    const run = () => runExportStep(deps, { message, deadlineMs: Number.MAX_SAFE_INTEGER });
    return { stack, broken, entries, run };
  }

  it('is logged, with what came of it and how long it took', async () => {
    const { stack, entries, run } = await world();
    const beganAtMs = stack.clock.nowMs();
    await run();
    const durationMs = stack.clock.nowMs() - beganAtMs;
    expect(durationMs).toBeGreaterThan(0);
    const fields = { ...exportPath, step: message.step, outcome: 'copying', durationMs };
    expect(entries).toEqual([{ level: 'info', message: 'export step', fields }]);
  });

  it('that fails is delivered again, and after an hour of that the export fails', async () => {
    const { stack, broken, entries, run } = await world();
    broken.error = new TypeError('Something broke.');
    await expect(run()).rejects.toThrow('Something broke.');
    const { failingSinceMs } = await stack.job();
    expect(failingSinceMs).toBe(stack.clock.nowMs());
    stack.clock.advance(hourMs - 1001);
    await expect(run()).rejects.toThrow('Something broke.');
    expect(await stack.job()).toMatchObject({ state: 'planning', failingSinceMs });
    expect([entries, stack.messages]).toEqual([[], []]);
    await run();
    expect(await stack.job()).toMatchObject({
      state: 'failed',
      failure: {
        reason: 'store',
        message: 'One step failed for an hour. Last error: TypeError. Retry later.',
      },
    });
    const fields = { ...exportPath, step: message.step, error: broken.error };
    expect(entries).toEqual([{ level: 'error', message: 'export failed', fields }]);
    // What it has made is removed by the next step.
    expect(stack.messages).toEqual([message]);
  });

  it('that fails for what the store does not serve says so', async () => {
    const { stack, broken, run } = await world();
    await stack.jobs.change(exportPath, (job) => ({ ...job, failingSinceMs: stack.clock.nowMs() - hourMs }));
    broken.error = new StoreUnavailableError('The store did not serve GetObject (500).');
    await run();
    expect((await stack.job()).failure?.message).toBe(
      'One step failed for an hour. Last error: The store did not serve GetObject (500). Retry later.',
    );
  });

  it('that fails with something that is no error is told as unknown', async () => {
    const { stack, broken, run } = await world();
    await stack.jobs.change(exportPath, (job) => ({
      ...job,
      failingSinceMs: stack.clock.nowMs() - hourMs,
    }));
    broken.error = 'a text';
    await run();
    expect((await stack.job()).failure?.message).toContain('Last error: an unknown error.');
  });

  it('of an export that has ended is only delivered again if it fails', async () => {
    const { stack, run } = await world();
    await stack.jobs.change(exportPath, (job) => ({ ...job, state: 'cancelled' }));
    stack.archives.before = () => {
      throw new Error('The store does not answer.');
    };
    await expect(run()).rejects.toThrow('The store does not answer.');
    expect(await stack.job()).toMatchObject({ state: 'cancelled', failingSinceMs: null });
  });

  it('of an export that there is not is only delivered again if it fails', async () => {
    const stack = new ExportStack();
    stack.archives.before = () => {
      throw new Error('The store does not answer.');
    };
    const forget: ExportMessage = { ...exportPath, step: { kind: 'forget' } };
    const step = runExportStep(stack.deps, { message: forget, deadlineMs: Number.MAX_SAFE_INTEGER });
    await expect(step).rejects.toThrow('The store does not answer.');
    expect(stack.messages).toEqual([]);
  });

  it('at which another function is, is delivered again, and no failure', async () => {
    const { stack, entries, run } = await world();
    await stack.jobs.change(exportPath, (job) => ({ ...job, leaseUntilMs: stack.clock.nowMs() + 1 }));
    await expect(run()).rejects.toThrow(ExportBusyError);
    expect(await stack.job()).toMatchObject({ failingSinceMs: null });
    expect(entries).toEqual([]);
  });
});
