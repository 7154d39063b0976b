import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ExportStack, type ExportStackOptions, exportPath } from '../../../../support/export-stack.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** The files of a tar, by name. */
function untar(tar: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const text = (at: number, length: number) =>
    Buffer.from(tar.subarray(at, at + length))
      .toString()
      .replace(/\0.*$/s, '');
  let at = 0;
  for (; at < tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    files.set(text(at, 100), tar.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  expect(tar.subarray(at).every((byte) => byte === 0)).toBe(true);
  return files;
}

/** The files of a zip, by name, whose CRC-32 are right in heads and directory. */
function unzip(zip: Uint8Array): Map<string, Uint8Array> {
  const bytes = Buffer.from(zip);
  const files = new Map<string, Uint8Array>();
  let at = bytes.readUInt32LE(bytes.length - 22 + 16);
  for (; bytes.readUInt32LE(at) === 0x02014b50; ) {
    const [size, nameLength, extra] = [
      bytes.readUInt32LE(at + 24),
      bytes.readUInt16LE(at + 28),
      bytes.readUInt16LE(at + 30),
    ];
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength);
    const head = bytes.readUInt32LE(at + 42);
    const start = head + 30 + bytes.readUInt16LE(head + 26) + bytes.readUInt16LE(head + 28);
    const content = bytes.subarray(start, start + size);
    expect([bytes.readUInt32LE(at + 16), bytes.readUInt32LE(head + 14)]).toEqual([
      crc32(content),
      crc32(content),
    ]);
    files.set(name, content);
    at += 46 + nameLength + extra + bytes.readUInt16LE(at + 32);
  }
  return files;
}

/** The archives of a job that is done, and what is in them. */
async function archivesOf(stack: ExportStack) {
  const job = await stack.job();
  expect(job.failure).toBeNull();
  expect(job).toMatchObject({ state: 'done', isTidy: true });
  const files = new Map<string, Uint8Array>();
  const archives = new Map<string, Uint8Array>();
  for (const { key } of job.planned?.volumes ?? []) {
    const bytes = await stack.archives.get(key);
    if (!bytes) throw new Error(`There is no archive ${key}.`);
    archives.set(key, bytes);
    for (const [name, content] of job.request.format === 'tar' ? untar(bytes) : unzip(bytes))
      files.set(name, content);
  }
  return { job, files, archives };
}

/** That the archives have exactly these objects, and nothing else is left. */
async function expectObjects(stack: ExportStack, stored: ReadonlyMap<string, Uint8Array>) {
  const { files, archives } = await archivesOf(stack);
  const objects = [...files].filter(([name]) => name.startsWith('lfs/objects/'));
  expect(objects.map(([name]) => name.slice(18)).sort()).toEqual([...stored.keys()].sort());
  for (const [name, bytes] of objects) expect(sha256(bytes)).toBe(name.slice(18));
  expect(await stack.left()).toEqual([...archives.keys()].sort());
  expect(stack.archives.openUploads).toEqual([]);
  return [...archives.values()].map(sha256);
}

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

  it('of listed objects has them under their names, and says which are missing', async () => {
    const stack = new ExportStack();
    const oid = await stack.store('app', Buffer.from('wanted'));
    await stack.store('app', Buffer.from('not wanted'));
    const absent = 'f'.repeat(64);
    for (const repo of ['app', null]) {
      const work = '_exports/acme/first/work/request.json';
      await stack.archives.put(
        work,
        Buffer.from(JSON.stringify([{ oid, name: 'folder/a.bin' }, { oid: absent }])),
      );
      await stack.start({ repo, listedObjects: 2 });
      await stack.run();
      const { files, job } = await archivesOf(stack);
      expect(Buffer.from(files.get('folder/a.bin') ?? []).toString()).toBe('wanted');
      expect(files.size).toBe(3);
      const manifest = JSON.parse(Buffer.from(files.get('lfs/export/manifest-1.json') ?? []).toString());
      expect(manifest).toMatchObject({ objects: 1, missing: [{ oid: absent, sizeBytes: null }] });
      expect(job.planned?.missing).toBe(1);
      await stack.jobs.change(exportPath, () => undefined);
      if (repo !== null) return;
    }
  });

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
  });

  it('that is a dry run tells what each way takes, and leaves nothing behind', async () => {
    const stack = new ExportStack();
    await stack.storeMany(30, 900);
    await stack.start({ isDryRun: true });
    const job = await stack.run();
    expect(job).toMatchObject({ state: 'explained', isTidy: true });
    expect(job.explained?.map(({ way, kind }) => [way, kind])).toEqual([
      ['stream', 'possible'],
      ['copy-free', 'possible'],
      ['copy-grid', 'possible'],
    ]);
    expect(await stack.left()).toEqual([]);
  });
});

describe('an export with kills', () => {
  it.each(['tar', 'zip'] as const)(
    '%s: a kill at each call of a step',
    { timeout: 60_000 },
    async (format) => {
      const make = async () => {
        const stack = new ExportStack({ partsMax: 20 });
        const stored = await stack.storeMany(3, 900, ['app', 'web']);
        await stack.start({ format });
        return { stack, stored };
      };
      const whole = await make();
      const before = whole.stack.calls;
      await whole.stack.run();
      const archives = await expectObjects(whole.stack, whole.stored);
      const calls = whole.stack.calls - before;
      expect(calls).toBeGreaterThan(100);
      for (let kill = 0; kill < calls; kill += 1) {
        const { stack, stored } = await make();
        stack.callsToLive = kill;
        await killedRun(stack);
        expect(stack.kills, `at call ${kill}`).toBeLessThanOrEqual(1);
        expect(await expectObjects(stack, stored)).toEqual(archives);
      }
    },
  );

  it('200 exports, each step of which may be killed', { timeout: 120_000 }, async () => {
    let kills = 0;
    for (let seed = 0; seed < 200; seed += 1) {
      const kind = seed % 2 === 0 ? 's3' : 'r2';
      const stack = new ExportStack({ seed, kind, partsMax: seed % 4 < 2 ? 10_000 : 30 });
      const stored = await stack.storeMany(stack.random.int(0, 8), 900, ['app', 'web']);
      await stack.start({ format: seed % 3 === 0 ? 'zip' : 'tar' });
      for (let steps = 0; stack.messages.length > 0; steps += 1) {
        if (stack.random.int(0, 2) === 0) stack.callsToLive = stack.random.int(0, 50);
        await stack.deliver({ isRandom: true });
        if (steps > 3000) throw new Error(`Seed ${seed} does not end.`);
        // Messages come twice.
        const message = stack.messages[0];
        if (message && stack.random.int(0, 9) === 0) stack.messages.push(message);
      }
      kills += stack.kills;
      await expectObjects(stack, stored);
    }
    expect(kills).toBeGreaterThan(200);
  });
});

/** Runs to the end. The kill that is set goes over all steps, not only the first. */
async function killedRun(stack: ExportStack): Promise<void> {
  for (let steps = 0; stack.messages.length > 0; steps += 1) {
    if (steps > 1000) throw new Error('The export does not end.');
    const { callsToLive, kills } = stack;
    const before = stack.calls;
    await stack.deliver();
    if (stack.kills === kills && Number.isFinite(callsToLive) && stack.kills === 0)
      stack.callsToLive = callsToLive - (stack.calls - before);
  }
}
