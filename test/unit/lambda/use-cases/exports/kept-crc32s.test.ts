import { describe, expect, it } from 'vitest';
import type { ExportRequest } from '../../../../../lambda/domain/export/export-job.ts';
import { keptCrc32Key, knownHashesKey, requestKey } from '../../../../../lambda/domain/export/export-keys.ts';
import { encodeRequested } from '../../../../../lambda/domain/export/requested-objects.ts';
import { cancelExport, cancelExportsOf } from '../../../../../lambda/use-cases/exports/cancel-export.ts';
import { ExportStack, exportPath } from '../../../../support/export-stack.ts';
import { expectObjects } from './expect-archives.ts';

const digits = Array.from({ length: 16 }, (_, file) => file);
const keptKeys = digits.map((file) => keptCrc32Key(exportPath, file));

/** A stack whose first zip is made, and removed. */
async function afterOneZip({ count = 30, request = {} as Partial<ExportRequest> } = {}) {
  const stack = new ExportStack();
  const stored = await stack.storeMany(count, 900, ['app', 'web']);
  await stack.start({ format: 'zip', ...request });
  await stack.run();
  await cancelExport(stack.deps, exportPath);
  await stack.run();
  expect(await stack.left()).toEqual([]);
  return { stack, stored };
}

/** Makes another zip. @returns how many objects were hashed for it, by the bytes that the workers told. */
async function secondZip(stack: ExportStack, request: Partial<ExportRequest> = {}) {
  const hashed: string[] = [];
  const { put } = stack.archives;
  stack.archives.put = async (key, bytes) => {
    if (/\/hashes\/\d+$/.test(key))
      for (const [oid] of JSON.parse(Buffer.from(bytes).toString())) hashed.push(oid);
    return put.call(stack.archives, key, bytes);
  };
  await stack.start({ format: 'zip', ...request }, 'second');
  await stack.run();
  stack.archives.put = put;
  return hashed.sort();
}

describe('the CRC-32 of a tenant', () => {
  it('are kept, so a second zip hashes nothing', async () => {
    const { stack, stored } = await afterOneZip();
    expect(await stack.kept()).toEqual(keptKeys);
    const before = stack.messages.length;
    await stack.start({ format: 'zip' }, 'second');
    await stack.deliver();
    // There is nothing to hash, so the first step is not followed by one.
    expect(await stack.job()).toMatchObject({ state: 'copying' });
    expect(stack.messages.length).toBeGreaterThan(before);
    const job = await stack.run();
    expect(job.progress.hashedBytes).toBe(job.planned?.objectBytes);
    await expectObjects(stack, stored);
  });

  it('that are not known are hashed, and then kept', async () => {
    const { stack, stored } = await afterOneZip();
    const bytes = Buffer.from('this one is new');
    const oid = await stack.store('app', bytes);
    stored.set(oid, bytes);
    expect(await secondZip(stack)).toEqual([oid]);
    const job = await stack.job();
    expect(job.progress.hashedBytes).toBe(job.planned?.objectBytes);
    await expectObjects(stack, stored);
    await cancelExport(stack.deps, job);
    await stack.run();
    expect(await secondZip(stack)).toEqual([]);
  });

  it('that are known count as found before others are hashed', async () => {
    const { stack } = await afterOneZip();
    await stack.store('app', Buffer.from('this one is new'));
    await stack.start({ format: 'zip' }, 'second');
    await stack.deliver();
    const { state, planned, progress } = await stack.job();
    expect([state, planned?.volumes]).toEqual(['hashing', []]);
    expect(progress.hashedBytes).toBe((planned?.objectBytes ?? 0) - 'this one is new'.length);
  });

  it('are kept though they come from several rounds', async () => {
    const { stack } = await afterOneZip({ request: { repo: 'app' } });
    const ofApp = await stack.kept();
    expect(await secondZip(stack, { repo: 'web' })).toHaveLength(15);
    // One repo adds to what another has.
    expect((await stack.kept()).length).toBeGreaterThanOrEqual(ofApp.length);
    await cancelExport(stack.deps, await stack.job());
    await stack.run();
    stack.messages = [];
    await stack.start({ format: 'zip' }, 'third');
    await stack.deliver();
    expect(await stack.job()).toMatchObject({ state: 'copying' });
  });

  it('that are not of the objects of a list are kept, too', async () => {
    const { stack, stored } = await afterOneZip();
    const before = await Promise.all(keptKeys.map((key) => stack.archives.get(key)));
    const [oid = ''] = stored.keys();
    const request = { format: 'zip', listedObjects: 1 } as const;
    for (const repo of [null, 'app']) {
      await stack.start({ ...request, repo }, `of-${repo}`);
      await stack.archives.put(requestKey(await stack.job()), encodeRequested([{ oid }]));
      await stack.run();
      expect(await Promise.all(keptKeys.map((key) => stack.archives.get(key)))).toEqual(before);
    }
  });

  it('are read from the files alone in which objects are', async () => {
    const stack = new ExportStack();
    const oid = await stack.store('app', Buffer.from('alone'));
    await stack.start({ format: 'zip', repo: 'app' });
    const read: string[] = [];
    const { get } = stack.archives;
    stack.archives.get = async (key) => {
      read.push(key);
      return get.call(stack.archives, key);
    };
    await stack.deliver();
    const own = keptCrc32Key(exportPath, Number.parseInt(oid.slice(0, 1), 16));
    expect(read.filter((key) => key.includes('/crc32/'))).toEqual([own]);
    await stack.run();
    expect(await stack.kept()).toEqual([own]);
  });

  it('of objects that are gone are not kept by a zip of the whole tenant', async () => {
    const { stack, stored } = await afterOneZip();
    const sizeOf = async () => {
      const files = await Promise.all(keptKeys.map((key) => stack.archives.get(key)));
      return files.reduce((sum, file) => sum + (file?.length ?? 0), 0);
    };
    const before = await sizeOf();
    const gone = [...stored.keys()].slice(0, 10);
    for (const oid of gone) await stack.archives.delete([`acme/app/${oid}`, `acme/web/${oid}`]);
    expect(await secondZip(stack)).toEqual([]);
    expect(before - (await sizeOf())).toBe(10 * 48);
  });

  it('are not those of an object with the same oid and another size', async () => {
    const { stack, stored } = await afterOneZip();
    const [oid = ''] = stored.keys();
    const repo = (await stack.archives.head(`acme/app/${oid}`)) ? 'app' : 'web';
    await stack.archives.put(`acme/${repo}/${oid}`, Buffer.from('broken by somebody'));
    expect(await secondZip(stack)).toEqual([oid]);
  });

  it.each([
    ['lost', async (stack: ExportStack) => stack.archives.delete(keptKeys.slice(0, 8))],
    ['broken', async (stack: ExportStack) => breakFiles(stack, keptKeys.slice(0, 8))],
    ['cut off', async (stack: ExportStack) => breakFiles(stack, keptKeys.slice(0, 8), 1)],
  ])('that are %s are found again', async (_title, harm) => {
    const { stack, stored } = await afterOneZip();
    await harm(stack);
    const low = [...stored.keys()].filter((oid) => Number.parseInt(oid.slice(0, 1), 16) < 8);
    expect(await secondZip(stack)).toEqual(low.sort());
    await expectObjects(stack, stored);
  });

  it('are not those of another tenant', async () => {
    const { stack, stored } = await afterOneZip();
    for (const [oid, bytes] of stored) await stack.archives.put(`acme-2/app/${oid}`, bytes);
    const reads: string[] = [];
    const { get } = stack.archives;
    stack.archives.get = async (key) => {
      reads.push(key);
      return get.call(stack.archives, key);
    };
    const job = await stack.job();
    const other = { ...job, tenant: 'acme-2', exportId: 'other', state: 'planning' as const, planned: null };
    await stack.jobs.create(other, { placesMax: 3, nowMs: stack.clock.nowMs() });
    stack.messages.push({ tenant: 'acme-2', exportId: 'other', step: { kind: 'advance' } });
    await stack.deliver();
    expect(await stack.jobs.read(other)).toMatchObject({ state: 'hashing' });
    expect(reads.filter((key) => key.includes('/acme/'))).toEqual([]);
  });

  it('that were known when hashing began are not needed any more when it ends', async () => {
    const { stack, stored } = await afterOneZip();
    stored.set(await stack.store('app', Buffer.from('new')), Buffer.from('new'));
    await stack.start({ format: 'zip' }, 'second');
    await stack.deliver();
    await stack.archives.delete(keptKeys);
    await stack.run();
    expect(await stack.job()).toMatchObject({ round: 1 });
    await expectObjects(stack, stored);
  });

  it('are found anew if what was known of them is lost meanwhile', async () => {
    const { stack, stored } = await afterOneZip();
    stored.set(await stack.store('app', Buffer.from('new')), Buffer.from('new'));
    await stack.start({ format: 'zip' }, 'second');
    await stack.deliver();
    const job = await stack.job();
    await stack.archives.delete([knownHashesKey(job, job.round)]);
    await stack.run();
    expect(await stack.job()).toMatchObject({ round: 2 });
    await expectObjects(stack, stored);
  });
});

describe('the CRC-32 of a tenant that is deleted', () => {
  it('are removed with a zip that is cancelled, but not with a tar', async () => {
    const { stack } = await afterOneZip();
    for (const format of ['tar', 'zip'] as const) {
      await stack.start({ format }, format);
      await cancelExport(stack.deps, await stack.job());
      await stack.run();
      expect(await stack.kept()).toEqual(format === 'tar' ? keptKeys : []);
    }
  });

  it('are removed, though it has no export any more', async () => {
    const { stack } = await afterOneZip();
    await cancelExportsOf(stack.deps, { tenant: 'acme', repo: 'app' });
    await stack.run();
    expect(await stack.kept()).toEqual(keptKeys);
    await cancelExportsOf(stack.deps, { tenant: 'acme' });
    await stack.run();
    expect(await stack.kept()).toEqual([]);
  });
});

async function breakFiles(stack: ExportStack, keys: readonly string[], cutBytes = 0) {
  for (const key of keys) {
    const bytes = await stack.archives.get(key);
    if (!bytes || bytes.length < 5) continue;
    bytes[7] = (bytes[7] ?? 0) ^ 1;
    await stack.archives.put(key, bytes.subarray(0, bytes.length - cutBytes));
  }
}
