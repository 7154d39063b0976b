import { describe, expect, it, vi } from 'vitest';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { claimRequest, requestIdOf } from '../../../../../lambda/frame/access/request-keys.ts';
import type { ExportJobs } from '../../../../../lambda/subjects/exports/job-store.ts';
import { decodeJson } from '../../../../../lambda/subjects/exports/lease.ts';
import type { ExportMessage } from '../../../../../lambda/subjects/exports/messages.ts';
import {
  exportIdPattern,
  newExportId,
  newExportJob,
  requestKey,
} from '../../../../../lambda/subjects/exports/rules/job.ts';
import type { RequestedObject } from '../../../../../lambda/subjects/exports/rules/objects.ts';
import {
  cancelExport,
  cancelExportsOf,
  prepareExport,
  startsPerDayMax,
  wakeExports,
} from '../../../../../lambda/subjects/exports/start.ts';
import { runExportStep } from '../../../../../lambda/subjects/exports/steps.ts';
import { ManualClock, memoryDeps, recordingJobs } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { wholeTenant as request } from '../../../../support/subjects/exports/export-request.ts';
import { startExport, startExportOnce } from '../../../../support/subjects/exports/start-export.ts';
import { exportWorld } from './export-world.ts';

const wish = { tenant: 'acme', repo: 'game', format: 'tar', isDryRun: false } as const;

function started(outcome: Awaited<ReturnType<typeof startExportOnce>>) {
  if (outcome.kind !== 'started') throw new Error(`The export is ${outcome.kind}.`);
  return outcome.job;
}

/** The same records, of which one method is another. */
const withMethod = (jobs: ExportJobs, methods: Partial<ExportJobs>): ExportJobs =>
  new Proxy(jobs, {
    get: (target, name: keyof ExportJobs) => methods[name] ?? target[name].bind(target),
  });

describe('an export that is asked for', () => {
  it('has a record, and its first step is asked for', async () => {
    const { deps, messages } = await exportWorld();
    const { exportId } = started(await startExport(deps, wish));
    expect(exportId).toMatch(exportIdPattern);
    expect(await deps.exportJobs.read({ tenant: 'acme', exportId })).toMatchObject({
      state: 'planning',
      request: { repo: 'game', listedObjects: null, format: 'tar', isDryRun: false },
    });
    expect(messages).toEqual([{ tenant: 'acme', exportId, step: { kind: 'advance' } }]);
  });

  it('may be of a whole tenant, also of one that has nothing', async () => {
    const { deps, objects } = await exportWorld();
    await objects.delete([`acme/game/${'a'.repeat(64)}`]);
    const readRepo = vi.spyOn(deps.ledger, 'readRepo');
    const job = started(await startExport(deps, { ...wish, repo: null }));
    expect(job.request.repo).toBeNull();
    expect(readRepo).not.toHaveBeenCalled();
  });

  it('may be of a repo that was deleted once, and is there again', async () => {
    const { deps } = await exportWorld();
    const path = { tenant: 'acme', repo: 'game' };
    await deps.ledger.closeRepo({ ...path, closedAtMs: 5 });
    await deps.ledger.openRepo({ ...path, closedAtMs: 5 });
    expect(await deps.ledger.readRepo(path)).toMatchObject({ closedAtMs: null });
    expect(await startExport(deps, wish)).toMatchObject({ kind: 'started' });
  });

  it('of some objects has a record before their list is in the store, by which it is found and removed', async () => {
    const { deps } = await exportWorld();
    const objects = [{ oid: 'b'.repeat(64), name: 'bücher/ä.psd' }];
    const places: string[] = [];
    const put = async (key: string, bytes: Uint8Array) => {
      const { jobs } = await deps.exportJobs.list({ tenant: 'acme', pageSize: 9 });
      places.push(...jobs.map(requestKey));
      await deps.archives.put(key, bytes);
    };
    const archives = { ...deps.archives, put };
    const job = started(await startExport({ ...deps, archives }, { ...wish, objects }));
    expect(places).toEqual([requestKey(job)]);
    const listed = (await deps.archives.get(requestKey(job))) ?? new Uint8Array();
    expect([job.request.listedObjects, decodeJson<RequestedObject[]>(listed)]).toEqual([1, objects]);
    expect(job.request.isNamed).toBe(true);
    const unnamed = { oid: 'c'.repeat(64) };
    const isNamed = async (list: readonly RequestedObject[]) =>
      started(await startExport(deps, { ...wish, objects: list })).request.isNamed;
    expect(await isNamed([unnamed])).toBe(false);
    // One name is enough to hide what is in the archive.
    expect(await isNamed([unnamed, ...objects])).toBe(true);
  });

  it('begins later if the queue does not take its first step', async () => {
    const { log, entries } = recordingLog();
    const exportQueue = { isOn: true, send: () => Promise.reject(new Error('No.')) };
    const { deps } = await exportWorld({ exportQueue, log });
    const { exportId } = started(await startExport(deps, wish));
    expect(await deps.exportJobs.read({ tenant: 'acme', exportId })).toBeDefined();
    const fields = { tenant: 'acme', exportId, error: new Error('No.') };
    expect(entries).toEqual([{ level: 'error', message: 'export not advanced', fields }]);
  });

  it('needs a place, and learns who has them', async () => {
    const { deps, objects, messages } = await exportWorld();
    const three = await Promise.all([1, 2, 3].map(() => startExport(deps, wish)));
    const ids = three.map((outcome) => started(outcome).exportId).sort();
    const before = objects.objectCount;
    for (const list of [undefined, [{ oid: 'b'.repeat(64) }]]) {
      const outcome = await startExport(deps, { ...wish, objects: list });
      const holders = outcome.kind === 'full' ? outcome.holders.map(({ exportId }) => exportId) : [];
      expect(holders.sort()).toEqual(ids);
    }
    expect([messages.length, objects.objectCount]).toEqual([3, before]);
  });

  it('begins in a place that was there when it was asked for only if it still is', async () => {
    const { deps } = await exportWorld();
    const prepared = await Promise.all([1, 2, 3, 4].map(() => prepareExport(deps, { wish })));
    const kinds: string[] = [];
    for (const each of prepared) kinds.push(each.kind === 'ready' ? (await each.begin()).kind : each.kind);
    expect(kinds).toEqual(['started', 'started', 'started', 'full']);
  });

  it('leaves no list behind if the last place goes meanwhile, with a key or without', async () => {
    const { deps, objects, messages } = await exportWorld();
    const before = objects.objectCount;
    const wished = { ...wish, objects: [{ oid: 'b'.repeat(64) }] };
    const exportJobs = withMethod(deps.exportJobs, { create: async () => 'full' });
    const full = { ...deps, exportJobs };
    expect(await startExport(full, wished)).toMatchObject({ kind: 'full' });
    const outcome = await startExportOnce(full, { wish: wished, requestKey: 'key-1' });
    expect(outcome).toMatchObject({ kind: 'full' });
    expect([messages, objects.objectCount]).toEqual([[], before]);
  });

  it('leaves no list behind if it is canceled before the list is put', async () => {
    const { deps, objects, messages } = await exportWorld();
    const before = objects.objectCount;
    const put = async (key: string, bytes: Uint8Array) => {
      await cancelExportsOf(deps, { tenant: 'acme', repo: 'game' });
      for (const message of messages.splice(0)) await runExportStep(deps, { message, deadlineMs: 9e15 });
      await deps.archives.put(key, bytes);
    };
    const wished = { ...wish, repo: 'game', objects: [{ oid: 'b'.repeat(64) }] };
    await startExport({ ...deps, archives: { ...deps.archives, put } }, wished);
    expect(objects.objectCount).toBe(before + 1);
    for (const message of messages) await runExportStep(deps, { message, deadlineMs: 9e15 });
    expect(objects.objectCount).toBe(before);
  });

  it('has its list put by the next attempt with its key, if the first died before it', async () => {
    const { deps } = await exportWorld();
    const wished = { ...wish, objects: [{ oid: 'b'.repeat(64) }] };
    const put = () => Promise.reject(new Error('Killed.'));
    const killed = { ...deps, archives: { ...deps.archives, put } };
    await expect(startExportOnce(killed, { wish: wished, requestKey: 'key-1' })).rejects.toThrow('Killed.');
    const again = await startExportOnce(deps, { wish: wished, requestKey: 'key-1' });
    const job = started(again);
    expect(await deps.archives.get(requestKey(job))).toBeDefined();
  });

  it('that has a record keeps its list', async () => {
    const { deps, objects, messages } = await exportWorld();
    const job = started(await startExport(deps, { ...wish, objects: [{ oid: 'b'.repeat(64) }] }));
    const before = objects.objectCount;
    const message = { tenant: 'acme', exportId: job.exportId, step: { kind: 'forget' } } as const;
    await runExportStep(deps, { message, deadlineMs: Number.MAX_SAFE_INTEGER });
    expect([objects.objectCount, messages.length]).toEqual([before, 1]);
  });

  it('is not made of a repo that has nothing, or is being deleted', async () => {
    const { deps, messages } = await exportWorld();
    expect(await startExport(deps, { ...wish, repo: 'other' })).toEqual({ kind: 'no-repo' });
    await deps.ledger.closeRepo({ tenant: 'acme', repo: 'game', closedAtMs: 5 });
    expect(await startExport(deps, wish)).toEqual({ kind: 'no-repo' });
    expect(messages).toEqual([]);
  });

  it.each([
    { what: 'tenant', kind: 'tenant-closed' },
    { what: 'repo', kind: 'no-repo' },
  ])('is cancelled if its $what was deleted meanwhile', async ({ what, kind }) => {
    const { deps } = await exportWorld();
    const exportJobs = withMethod(deps.exportJobs, {
      create: async (job, options) => {
        if (what === 'tenant') await deps.ledger.closeTenant({ tenant: 'acme', closedAtMs: 5 });
        else await deps.ledger.closeRepo({ tenant: 'acme', repo: 'game', closedAtMs: 5 });
        return deps.exportJobs.create(job, options);
      },
    });
    expect(await startExport({ ...deps, exportJobs }, wish)).toEqual({ kind });
    const { jobs } = await deps.exportJobs.list({ tenant: 'acme', pageSize: 10 });
    expect(jobs).toMatchObject([{ state: 'cancelled' }]);
  });
});

it('an export of a tenant that is gone meanwhile is cancelled', async () => {
  const { deps } = await exportWorld();
  vi.spyOn(deps.ledger, 'readTenant').mockResolvedValue(undefined);
  expect(await startExport(deps, wish)).toEqual({ kind: 'tenant-closed' });
  const { jobs } = await deps.exportJobs.list({ tenant: 'acme', pageSize: 10 });
  expect(jobs).toMatchObject([{ state: 'cancelled' }]);
});

describe('an export that is asked for with a key', () => {
  const once = { wish, requestKey: 'key-1' };

  it('is begun once, however often it is asked for', async () => {
    const { deps, clock, messages } = await exportWorld();
    const first = started(await startExportOnce(deps, once));
    clock.advance(60_000);
    expect(started(await startExportOnce(deps, once)).exportId).toBe(first.exportId);
    expect(messages).toHaveLength(1);
    const byAnother = { ...wish, by: { kind: 'token', name: 'grace' } as const };
    expect(started(await startExportOnce(deps, { ...once, wish: byAnother })).by).toBeNull();
    const otherWish = { ...wish, format: 'zip' as const };
    expect(await startExportOnce(deps, { ...once, wish: otherWish })).toEqual({ kind: 'key-reused' });
    const other = started(await startExportOnce(deps, { ...once, requestKey: 'key-2' }));
    expect(other.exportId).not.toBe(first.exportId);
  });

  it('is of the credential that has the key: the same key of another starts another', async () => {
    const { deps } = await exportWorld();
    const first = started(await startExportOnce(deps, { ...once, credentialId: 'a' }));
    const zip = { ...once, wish: { ...wish, format: 'zip' as const } };
    const second = started(await startExportOnce(deps, { ...zip, credentialId: 'b' }));
    expect(second.exportId).not.toBe(first.exportId);
    expect(started(await startExportOnce(deps, { ...once, credentialId: 'a' })).exportId).toBe(
      first.exportId,
    );
  });

  it('is of the tenant that has the key: the same key of another is another', async () => {
    const { deps, owner } = await exportWorld();
    const empty = { plan: null, limitBytes: null, scanned: null, dueAtMs: owner.createdAtMs };
    await deps.ledger.createTenant({ ...owner, tenant: 'beta', ...empty });
    const first = started(await startExportOnce(deps, once));
    const ofAll = { ...wish, tenant: 'beta', repo: null };
    const other = started(await startExportOnce(deps, { ...once, wish: ofAll }));
    expect([other.tenant, first.tenant]).toEqual(['beta', 'acme']);
  });

  it('goes on where an attempt died before it asked for the first step', async () => {
    const { deps, messages } = await exportWorld();
    const ledger = Object.create(deps.ledger);
    ledger.readTenant = () => Promise.reject(new Error('Killed.'));
    ledger.readRepo = async () => undefined;
    await expect(startExportOnce({ ...deps, ledger }, once)).rejects.toThrow('Killed.');
    expect(messages).toEqual([]);
    const { exportId } = started(await startExportOnce(deps, once));
    expect(messages).toEqual([{ tenant: 'acme', exportId, step: { kind: 'advance' } }]);
    expect((await deps.exportJobs.list({ tenant: 'acme', pageSize: 10 })).jobs).toHaveLength(1);
  });

  it('is answered, and goes on where an attempt died, though it has the last place itself', async () => {
    const { deps } = await exportWorld();
    const first = started(await startExportOnce(deps, once));
    started(await startExport(deps, wish));
    const second = { ...once, requestKey: 'key-2' };
    const readTenant = vi.spyOn(deps.ledger, 'readTenant').mockRejectedValueOnce(new Error('Killed.'));
    await expect(startExportOnce(deps, second)).rejects.toThrow('Killed.');
    readTenant.mockRestore();
    expect(await startExport(deps, wish)).toMatchObject({ kind: 'full' });
    expect(started(await startExportOnce(deps, once)).exportId).toBe(first.exportId);
    expect(await startExportOnce(deps, second)).toMatchObject({ kind: 'started' });
  });

  it.each([
    { credentialId: undefined, purpose: 'start export\nacme' },
    { credentialId: 'a', purpose: 'start export\nacme\na' },
  ])('is known to the next version of this code, which must not begin it again: %j', async (given) => {
    const { deps, clock } = await exportWorld();
    const { credentialId, purpose } = given;
    started(await startExportOnce(deps, { ...once, credentialId }));
    const id = requestIdOf({ purpose, requestKey: once.requestKey });
    expect(await deps.requestKeys.isKnown({ id, nowMs: clock.nowMs() })).toBe(true);
  });

  it('goes on with a key that an older version claimed, which hashed what it prefers', async () => {
    const { deps } = await exportWorld();
    const text = '{"tenant":"acme","repo":"game","format":"tar","prefer":"time","isDryRun":false}';
    const older = { purpose: 'start export\nacme', requestKey: once.requestKey, body: JSON.parse(text) };
    const entry = await claimRequest(deps, older);
    if (entry.kind !== 'claimed') throw new Error('The key is new.');
    expect(entry.record.bodySha256).toBe(sha256Hex(text));
    const { beganAtMs: nowMs, seed: random } = entry.record;
    expect(started(await startExportOnce(deps, once)).exportId).toBe(newExportId({ nowMs, random }));
  });

  it('leaves no key behind if it is refused', async () => {
    const { deps } = await exportWorld();
    const begin = vi.spyOn(deps.requestKeys, 'begin');
    expect(await startExportOnce(deps, { ...once, wish: { ...wish, repo: 'other' } })).toEqual({
      kind: 'no-repo',
    });
    await Promise.all([1, 2, 3].map(() => startExport(deps, wish)));
    expect(await startExportOnce(deps, once)).toMatchObject({ kind: 'full' });
    expect(begin).not.toHaveBeenCalled();
  });

  it('has another try refused too, if its first one lost the last place', async () => {
    const { deps } = await exportWorld();
    const exportJobs = withMethod(deps.exportJobs, { create: async () => 'full' });
    expect(await startExportOnce({ ...deps, exportJobs }, once)).toMatchObject({ kind: 'full' });
    await Promise.all([1, 2, 3].map(() => startExport(deps, wish)));
    expect(await prepareExport(deps, once)).toMatchObject({ kind: 'full' });
  });

  it('can be tried again once there is a place', async () => {
    const { deps } = await exportWorld();
    const three = await Promise.all([1, 2, 3].map(() => startExport(deps, wish)));
    expect(await startExportOnce(deps, once)).toMatchObject({ kind: 'full' });
    for (const outcome of three.slice(0, 1)) await cancelExport(deps, started(outcome));
    expect(await startExportOnce(deps, once)).toMatchObject({ kind: 'started' });
  });

  it('has all of its time though the first request with its key failed hours ago', async () => {
    const { deps, clock } = await exportWorld();
    const exportJobs = withMethod(deps.exportJobs, { create: () => Promise.reject(new Error('Killed.')) });
    await expect(startExportOnce({ ...deps, exportJobs }, once)).rejects.toThrow('Killed.');
    clock.advance(20 * 60 * 60_000);
    const { createdAtMs, endsByMs } = started(await startExportOnce(deps, once));
    expect([createdAtMs, endsByMs]).toEqual([clock.nowMs(), clock.nowMs() + deps.exportSettings.limitMs]);
  });

  it('does not come back once its record is removed', async () => {
    const { deps } = await exportWorld();
    started(await startExportOnce(deps, once));
    const exportJobs = withMethod(deps.exportJobs, { read: async () => undefined });
    expect(await startExportOnce({ ...deps, exportJobs }, once)).toEqual({ kind: 'removed' });
  });
});

it('a tenant starts so many exports a day, those that were deleted among them', async () => {
  const { deps, clock } = await exportWorld();
  for (let index = 0; index < startsPerDayMax; index += 1) {
    clock.advance(1);
    await cancelExport(deps, started(await startExport(deps, wish)));
  }
  const dayMs = 24 * 60 * 60_000;
  expect(await startExport(deps, wish)).toEqual({
    kind: 'too-many',
    retryAfterMs: dayMs - startsPerDayMax + 1,
  });
  clock.advance(dayMs - startsPerDayMax + 1);
  started(await startExport(deps, wish));
});

async function stack(count: number) {
  const clock = new ManualClock();
  const { queue, messages } = recordingJobs<ExportMessage>();
  const deps = memoryDeps({ clock, exportQueue: queue });
  for (let index = 0; index < count; index += 1) {
    const path = { tenant: 'acme', exportId: `e${index}` };
    const job = newExportJob({ ...path, request, nowMs: clock.nowMs(), limitMs: 86_400_000 });
    await deps.exportJobs.create(job, { placesMax: 1000, nowMs: clock.nowMs() });
  }
  return { clock, messages, deps };
}

it('asks for the next step of exports in which nothing has moved', async () => {
  const { clock, messages, deps } = await stack(2);
  await deps.exportJobs.change({ tenant: 'acme', exportId: 'e1' }, (job) => ({
    ...job,
    state: 'failed',
    isTidy: true,
  }));
  clock.advance(15 * 60_000 - 1);
  expect(await wakeExports(deps)).toBe(0);
  clock.advance(1);
  expect(await wakeExports(deps)).toBe(1);
  expect(messages).toEqual([{ tenant: 'acme', exportId: 'e0', step: { kind: 'advance' } }]);
});

it('asks for nothing in a stage that makes no exports', async () => {
  const { clock, messages, deps } = await stack(1);
  clock.advance(15 * 60_000);
  const exportQueue = { ...deps.exportQueue, isOn: false };
  expect(await wakeExports({ ...deps, exportQueue })).toBe(0);
  expect(messages).toEqual([]);
});

it('asks for a hundred at a time', async () => {
  const { clock, messages, deps } = await stack(150);
  clock.advance(15 * 60_000);
  expect(await wakeExports(deps)).toBe(100);
  expect(messages.length).toBe(100);
});
