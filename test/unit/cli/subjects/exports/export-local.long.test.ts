import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useTempFolders } from '../../../../support/temp-folder.ts';
import { untar } from '../../../../support/untar.ts';
import { cli } from '../../harness.ts';
import { type FakeObject, FakeService, fakeObject } from './fake-service.ts';

const tempFolder = useTempFolders();
const createdAtMs = Date.parse('2026-11-21T05:00:00Z');
let service: FakeService;
let folder: string;
let file: string;

beforeEach(async () => {
  service = await new FakeService().start();
  folder = tempFolder();
  file = path.join(folder, 'all.tar');
});
afterEach(() => service.close());

type CliOptions = Parameters<typeof cli>[1];

function run(args: readonly string[] = [], options: CliOptions & { token?: string } = {}) {
  const { token = 'tenant-token', ...rest } = options;
  const env = { LFS_QUOTA_URL: service.url, LFS_QUOTA_TOKEN: token };
  return cli(['export', 'local', 'acme', '--output', file, ...args], { env, ...rest });
}

/** Stores objects of these sizes, in turn in two repos. */
function store(...sizes: number[]): FakeObject[] {
  const made = sizes.map((size, index) => fakeObject(index % 2 === 0 ? 'art' : 'game', randomBytes(size)));
  service.objects.push(...made);
  return made;
}

/** What a whole archive has: its files but those that describe it, its manifest, and that its index is true. */
function archive() {
  const bytes = readFileSync(file);
  const files = untar(bytes);
  const manifest = JSON.parse(textOf(files, 'lfs/export/manifest-1.json'));
  const index = textOf(files, 'lfs/export/index-1.txt').split('\n').slice(0, -1);
  for (const line of index) {
    const [oid, size, start] = line.split(/ +/);
    const content = bytes.subarray(Number(start), Number(start) + Number(size));
    expect(createHash('sha256').update(content).digest('hex')).toBe(oid);
  }
  expect(index).toEqual([...index].sort());
  expect(manifest).toMatchObject({ objects: index.length, volume: 1, index: 'lfs/export/index-1.txt' });
  files.delete('lfs/export/manifest-1.json');
  files.delete('lfs/export/index-1.txt');
  expect(files.size).toBe(index.length);
  return { files, manifest };
}

/** That an archive has these objects alone. @returns its manifest. */
function expectObjects(objects: readonly (FakeObject & { name?: string })[]) {
  const { files, manifest } = archive();
  const wanted = objects.map(({ oid, bytes, name }) => [name ?? nameOf(oid), bytes.toString('hex')]);
  const found = [...files].map(([name, bytes]) => [name, Buffer.from(bytes).toString('hex')]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(wanted));
  return manifest;
}

const textOf = (files: ReadonlyMap<string, Uint8Array>, name: string) =>
  Buffer.from(files.get(name) ?? '').toString();
const nameOf = (oid: string) => `lfs/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`;
/** The folder, or a file in it, that the last call has left beside the archive. */
const parts = (name = '') =>
  path.join(folder, left().find((each) => each.endsWith('.parts')) ?? 'none', name);

/** A transfer that ends when so many of its bytes have arrived. */
const cut = (object: FakeObject | undefined, cutAt: number) => ({
  cutAt,
  hasArrived: () => statSync(parts(`${object?.oid}.part`), { throwIfNoEntry: false })?.size === cutAt,
});

const timesOf = (oid: string) => service.gets.filter((get) => get.oid === oid).length;
const left = () => readdirSync(folder).sort();

describe('export local', () => {
  it('makes an archive, and leaves nothing else', async () => {
    const objects = store(5, 0, 100_000, 512, 2_000_000, 513, 1, 2, 3, 4);
    const { code, out, err } = await run();
    expect({ code, err }).toEqual({ code: 0, err: expect.not.stringContaining('error') });
    expectObjects(objects);
    expect(left()).toEqual(['all.tar']);
    const names = execFileSync('tar', ['-tf', file], { encoding: 'utf8' }).trimEnd().split('\n');
    expect(names).toHaveLength(12);
    expect(out).toContain(`tar -x -C .git -f ${file}\n  git lfs checkout\n`);
    expect(service.batches).toBe(3);
    // The empty one has nothing to get.
    expect(service.gets).toHaveLength(9);
  });

  it('has an object once that two repos have, and those of one repo alone if asked', async () => {
    const [shared, own] = store(10, 20);
    if (!shared || !own) throw new Error('No objects.');
    service.objects.push({ ...shared, repo: 'game' });
    expect(await run()).toMatchObject({ code: 0 });
    expect(expectObjects([shared, own])).toMatchObject({ path: 'acme', missing: [] });
    expect(timesOf(shared.oid)).toBe(1);
    expect(await run(['--repo', 'game.git', '--force'])).toMatchObject({ code: 0 });
    const inGame = [{ ...shared, repo: 'game' }, own];
    expect(expectObjects(inGame)).toMatchObject({ path: 'acme/game' });
  });

  it('has the objects of a list, under their names, and names what is not stored', async () => {
    const [one, two, other] = store(10, 20, 30);
    const absent = 'f'.repeat(64);
    const list = path.join(folder, 'list.txt');
    writeFileSync(list, `${one?.oid} * a/one.bin\n${two?.oid}\n${absent} - gone.bin\n`);
    const { code, out, err } = await run(['--objects', list]);
    expect(code).toBe(0);
    const wanted = [{ ...(one as FakeObject), name: 'a/one.bin' }, two as FakeObject];
    expect(expectObjects(wanted)).toMatchObject({ missing: [{ oid: absent, sizeBytes: null }] });
    expect(timesOf(other?.oid ?? '')).toBe(0);
    expect(out).toMatch(/Never extract it into \.git: .*\n {2}tar -x -f \S+\n$/);
    expect(err).toContain('Not stored any more, so left out: 1 object.');
    for (const name of ['../x', '.git/config']) {
      writeFileSync(list, `${one?.oid} ${name}\n`);
      expect(await run(['--objects', list, '--force'])).toMatchObject({
        code: 2,
        err: expect.stringContaining('must be a relative path'),
      });
    }
  });

  it('asks for a hundred objects at a time', async () => {
    store(...Array.from({ length: 402 }, (_, index) => index));
    expect(await run()).toMatchObject({ code: 0 });
    // One that asks whether it may, and three for each repo.
    expect(service.batches).toBe(1 + 3 + 3);
    expect(service.gets).toHaveLength(401);
  });

  it('stopped with Ctrl-C goes on, and fetches nothing twice that was complete', async () => {
    const objects = store(...Array.from({ length: 30 }, (_, index) => 1000 + index));
    let interrupt = () => {};
    service.onGet = (oid, times) => {
      if (service.gets.length < 20) return undefined;
      // Others are still written.
      if (times === 0) setTimeout(() => interrupt(), 300);
      return oid === '' ? undefined : 'hang';
    };
    const onInterrupt = (listener: () => void) => {
      interrupt = listener;
      return () => {};
    };
    const stopped = await run([], { onInterrupt });
    expect(stopped).toMatchObject({ code: 130, out: '' });
    expect(stopped.err).toContain(
      `error: Stopped.\nFinished objects are kept. Resume: lfs-quota export local acme --output ${file}\n`,
    );
    expect(left()).toEqual([expect.stringMatching(/^all\.tar\.[0-9a-f]{8}\.parts$/)]);
    service.onGet = () => undefined;
    service.gets.length = 0;
    const since = store(77);
    const again = await run([], { now: () => createdAtMs + 60_000 });
    expect(again).toMatchObject({
      code: 0,
      err: expect.stringContaining('Resuming: 19 of 31 objects are downloaded.'),
    });
    expect(service.gets).toHaveLength(12);
    // What was pushed since is there too.
    expectObjects([...objects, ...since]);
    expect(left()).toEqual(['all.tar']);
  });

  /** Eight objects are there, and a ninth has failed. */
  async function unfinished() {
    const objects = store(...Array.from({ length: 9 }, (_, index) => 10 + index));
    const lastOid = objects[8]?.oid ?? '';
    service.onGet = (oid) => (oid === lastOid ? { status: 500 } : undefined);
    const err = expect.stringContaining(`${lastOid}: The store returned 500.`);
    expect(await run()).toMatchObject({ code: 1, err });
    service.onGet = () => undefined;
    service.gets.length = 0;
    return objects;
  }

  const put = (name: string, bytes: string | Buffer) => writeFileSync(parts(name), bytes);
  const flip = (name: string, at: number) => {
    const bytes = readFileSync(parts(name));
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    put(name, bytes);
  };

  it.each([
    ['nothing has changed', () => undefined, 1],
    ['an object has a wrong bit', (oid: string) => flip(oid, 3), 2],
    ['an object is empty, as after a power cut', (oid: string) => put(oid, ''), 2],
    ['an object is gone', (oid: string) => rmSync(parts(oid)), 2],
    ['something else is there', () => put('other', 'x'), 1],
    ['wrong bytes had arrived', (_: string, last: string) => put(`${last}.part`, 'x'), 2],
    ['too many bytes had arrived', (_: string, last: string) => put(`${last}.part`, 'x'.repeat(99)), 1],
    ['nothing is there', () => rmSync(parts(), { recursive: true }), 9],
  ])('goes on if %s', async (_title, harm, fetched) => {
    const objects = await unfinished();
    harm(objects[2]?.oid ?? '', objects[8]?.oid ?? '');
    expect(await run()).toMatchObject({ code: 0 });
    expect(service.gets).toHaveLength(fetched);
    expectObjects(objects);
    expect(left()).toEqual(['all.tar']);
  });

  it('stopped within an object goes on there', async () => {
    const [object] = store(300_000);
    service.onGet = (_oid, times) => (times === 0 ? cut(object, 100_000) : { status: 503 });
    expect(await run()).toMatchObject({ code: 1 });
    service.onGet = () => undefined;
    expect(await run()).toMatchObject({ code: 0 });
    expect(service.gets.at(-1)).toEqual({ oid: object?.oid, from: 100_000 });
    expectObjects([object as FakeObject]);
  });

  const tarName = 'archive.tar';
  /** All objects have moved into the archive, and it has not its name yet. @returns what the archive is to be. */
  async function moved(...more: FakeObject[]) {
    store(300_000, 700, 0);
    service.objects.push(...more);
    service.onGet = () => {
      writeFileSync(file, 'mine');
      return undefined;
    };
    const err = expect.stringContaining(`${file} exists by now.`);
    expect(await run()).toMatchObject({ code: 1, err });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    rmSync(file);
    service.gets.length = 0;
    return readFileSync(parts(tarName));
  }
  /** As if an object had not moved yet. */
  const moveBack = (tar: Buffer, { oid, bytes }: FakeObject) => {
    const at = tar.indexOf(bytes.subarray(0, 512));
    put(oid, bytes);
    put(tarName, tar.fill(0, at, at + bytes.length));
  };

  it.each([
    ['nothing has changed', () => undefined],
    ['two have not moved', (tar: Buffer) => service.objects.slice(0, 2).map((each) => moveBack(tar, each))],
    ['a head has a wrong bit', () => flip(tarName, 5)],
    ['its end is not there', (tar: Buffer) => put(tarName, tar.subarray(0, -1024))],
    ['there is more behind it', (tar: Buffer) => put(tarName, Buffer.concat([tar, tar]))],
  ])(
    'replaces no file that appears meanwhile, and goes on where it moved objects into the archive: %s',
    async (_title, harm) => {
      const tar = await moved();
      harm(Buffer.from(tar));
      // What there is has been decided.
      service.objects.splice(0, 2);
      expect(await run([], { now: () => createdAtMs + 60_000 })).toMatchObject({ code: 0 });
      expect(service.gets).toEqual([]);
      expect(readFileSync(file).equals(tar)).toBe(true);
      archive();
      expect(left()).toEqual(['all.tar']);
    },
  );

  it.each([
    ['an object in the archive', (tar: Buffer) => flip(tarName, tar.length - 2000)],
    ['its contents', () => put('contents', '{')],
    ['its contents, which are another JSON now', () => put('contents', '{"objects":[]}')],
    [
      'a size in its contents',
      () => put('contents', readFileSync(parts('contents'), 'utf8').replace(/(\["[0-9a-f]{64}",)/g, '$1-')),
    ],
  ])('makes no archive if a bit was flipped in %s', async (_title, harm) => {
    harm(await moved());
    const err = expect.stringContaining(`Delete ${parts()}, and start again.`);
    expect(await run()).toMatchObject({ code: 1, err });
    expect(existsSync(file)).toBe(false);
  });

  it.each([true, false])(
    'writes to no file to which a link leads (contents decided: %s)',
    async (isDecided) => {
      await moved();
      const other = path.join(folder, 'other');
      writeFileSync(other, 'mine');
      rmSync(parts(tarName));
      symlinkSync(other, parts(tarName));
      if (!isDecided) rmSync(parts('contents'));
      service.onGet = () => undefined;
      const ended = isDecided ? { code: 1, err: expect.stringContaining('(ELOOP)') } : { code: 0 };
      expect(await run()).toMatchObject(ended);
      expect(readFileSync(other, 'utf8')).toBe('mine');
    },
  );

  it('has room for what it moves: files go while the archive grows', async () => {
    const [large, small] = [70_000_000, 1000].map((size) => fakeObject('art', Buffer.alloc(size, 4)));
    if (!large || !small || large.oid > small.oid) throw new Error('The large one comes first.');
    const tar = await moved(large, small);
    for (const object of [large, small]) moveBack(tar, object);
    flip(small.oid, 5);
    expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining('start again') });
    expect([large, small].map(({ oid }) => existsSync(parts(oid)))).toEqual([false, true]);
  });

  it('killed once its archive had its name begins anew if it is asked for again', async () => {
    await moved();
    rmSync(parts(tarName));
    const objects = service.objects;
    service.onGet = () => ({ status: 500 });
    expect(await run()).toMatchObject({ code: 1 });
    // Or else a kill before the new contents are written would leave the old ones with a new archive.
    expect(existsSync(parts('contents'))).toBe(false);
    service.onGet = () => undefined;
    expect(await run()).toMatchObject({ code: 0 });
    expectObjects(objects);
    expect(left()).toEqual(['all.tar']);
  });

  it('has names that need more than a plain head', async () => {
    const objects = store(...Array.from({ length: 9 }, (_, index) => 10 + index));
    const list = path.join(folder, 'list.txt');
    const named = objects.map((object, index) => ({
      ...object,
      name: `${'deep/'.repeat(15 * index)}ö ${index} size=0.bin`,
    }));
    writeFileSync(list, named.map(({ oid, name }) => `${oid} ${name}\n`).join(''));
    expect(await run(['--objects', list])).toMatchObject({ code: 0 });
    const names = execFileSync('tar', ['--quoting-style=literal', '-tf', file], {
      encoding: 'utf8',
      env: { LC_ALL: 'C.UTF-8' },
    }).split('\n');
    expect(names).toEqual(expect.arrayContaining(named.map(({ name }) => name)));
  });

  it('of something else begins an archive of its own', async () => {
    const objects = await unfinished();
    expect(await run(['--repo', 'art'])).toMatchObject({ code: 0 });
    expectObjects(objects.filter(({ repo }) => repo === 'art'));
    expect(left()).toEqual(['all.tar', expect.stringMatching(/\.parts$/)]);
    service.gets.length = 0;
    expect(await run(['--force'])).toMatchObject({ code: 0 });
    expect(service.gets).toHaveLength(1);
    expectObjects(objects);
  });

  it('names what lies there of other exports and older versions', async () => {
    store(1);
    const ends = ['.0123abcd.partial', '.0123abcd.partial.arriving-3', '.76543210.parts', '.partial.list'];
    const names = ends.map((end) => `all.tar${end}`);
    for (const name of [...names, 'all.tar.partially']) writeFileSync(path.join(folder, name), '');
    const err = expect.stringContaining(`not used by this one: ${names.join(', ')}\n`);
    expect(await run()).toMatchObject({ code: 0, err });
  });

  it.each([2, 9])(
    'keeps what it has of objects that are deleted before it goes on: %i of nine',
    async (deleted) => {
      const list = path.join(folder, 'list.txt');
      const bytes = Array.from({ length: 9 }, (_, index) => Buffer.alloc(10, index));
      writeFileSync(list, bytes.map((each) => `${fakeObject('', each).oid}\n`).join(''));
      const objects = bytes.map((each) => fakeObject('art', each));
      service.objects.push(...objects);
      service.onGet = (oid) => (oid === objects[8]?.oid ? { status: 500 } : undefined);
      expect(await run(['--objects', list])).toMatchObject({ code: 1 });
      service.onGet = () => undefined;
      service.objects.splice(0, deleted);
      expect(await run(['--objects', list])).toMatchObject({ code: 0 });
      const last = { oid: objects[8]?.oid, sizeBytes: null };
      const [there, missing] = deleted === 2 ? [objects, []] : [objects.slice(0, 8), [last]];
      expect(expectObjects(there)).toMatchObject({ missing });
    },
  );
});

describe('a transfer', () => {
  it('that breaks off goes on where it was', async () => {
    const objects = store(1_000_000);
    service.onGet = (_oid, times) => (times < 2 ? cut(objects[0], 300_000 * (times + 1)) : undefined);
    expect(await run()).toMatchObject({ code: 0 });
    expectObjects(objects);
    expect(service.gets.map(({ from }) => from)).toEqual([0, 300_000, 600_000]);
  });

  it('that breaks off begins anew, if the store knows no ranges', async () => {
    const objects = store(1_000_000);
    service.knowsRanges = false;
    service.onGet = (_oid, times) => (times === 0 ? cut(objects[0], 500_000) : undefined);
    expect(await run()).toMatchObject({ code: 0 });
    expectObjects(objects);
  });

  it('whose URL has expired is asked for again', async () => {
    const objects = store(10, 20);
    service.onGet = (_oid, times) => (times === 0 ? { status: 403 } : undefined);
    expect(await run()).toMatchObject({ code: 0 });
    expectObjects(objects);
    expect(service.batches).toBe(1 + 2 + 2);
  });

  it.each([403, 404])(
    'that is refused (%i) also with a new URL: its object is named, and the others stay',
    async (status) => {
      const objects = store(...Array.from({ length: 12 }, (_, index) => 10 + index));
      const [refused] = objects;
      service.onGet = (oid) => (oid === refused?.oid ? { status } : undefined);
      const { code, err } = await run();
      const named = `1 object can't be exported. The others are there.\n${refused?.oid}: The store returned ${status}.`;
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(named) });
      expect(timesOf(refused?.oid ?? '')).toBe(2);
      service.onGet = () => undefined;
      service.gets.length = 0;
      expect(await run()).toMatchObject({ code: 0 });
      expect(service.gets).toHaveLength(1);
      expectObjects(objects);
    },
  );

  it('is the last one if all fail, and says of which object it was', async () => {
    store(...Array.from({ length: 50 }, (_, index) => 10 + index));
    service.onGet = () => ({ status: 500 });
    const text = /The archive isn't complete\. [0-9a-f]{64}: The store returned 500\.\nFinished objects/;
    expect(await run()).toMatchObject({ code: 6, err: expect.stringMatching(text) });
    expect(new Set(service.gets.map(({ oid }) => oid)).size).toBeLessThan(16);
  });

  it('tells nobody its URL', async () => {
    store(10);
    service.secretHost = 'user:secret@';
    const { code, err } = await run();
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(': The connection failed.') });
    expect(err).not.toContain('secret');
  });

  it('that brings wrong bytes once is repeated; twice, its object is named and the others stay', async () => {
    const objects = store(100, 200, 300);
    const [wrong] = objects;
    const wrongBytes = { bytes: randomBytes(100) };
    service.onGet = (oid, times) => (oid === wrong?.oid && times === 0 ? wrongBytes : undefined);
    expect(await run()).toMatchObject({ code: 0 });
    expectObjects(objects);
    service.onGet = (oid) => (oid === wrong?.oid ? wrongBytes : undefined);
    const { code, err } = await run(['--force']);
    expect(code).toBe(1);
    expect(err).toContain(`1 object can't be exported. The others are there.\n${wrong?.oid}: Its bytes have`);
    service.onGet = () => undefined;
    service.gets.length = 0;
    expect(await run(['--force'])).toMatchObject({ code: 0 });
    expect(service.gets.map(({ oid }) => oid)).toEqual([wrong?.oid]);
    expectObjects(objects);
  });

  it('of more bytes than the object has is refused', async () => {
    const [object] = store(100);
    service.onGet = () => ({ bytes: randomBytes(200) });
    expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining('sent more bytes') });
    expect(statSync(parts(`${object?.oid}.part`)).size).toBe(0);
  });

  it('is tried again while the API asks to wait', async () => {
    store(1);
    service.batchStatuses.push(503, 429, 500);
    expect(await run()).toMatchObject({ code: 0 });
    service.batchStatuses.push(...Array.from({ length: 6 }, () => 503));
    expect(await run(['--force'])).toMatchObject({ code: 6, err: expect.stringContaining('returned 503') });
  });
});

describe('an object that is gone meanwhile', () => {
  it.each(['the batch', 'the store'])('is left out and named in the manifest, if %s says so', async (who) => {
    const objects = store(1000, 20_000, 30, 400_000, 5, 6);
    const lost = [...objects].sort((a, b) => (a.oid < b.oid ? -1 : 1)).filter((_, index) => index % 3 === 1);
    if (who === 'the batch') for (const { oid } of lost) service.gone.add(oid);
    else {
      const body = '<Error><Code>NoSuchKey</Code></Error>';
      service.onGet = (oid) =>
        lost.some((object) => object.oid === oid) ? { status: 404, body } : undefined;
    }
    const { code, err } = await run();
    expect(code).toBe(0);
    expect(err).toContain('Not stored any more, so left out: 2 objects.');
    const missing = lost.map(({ oid, bytes }) => ({ oid, sizeBytes: bytes.length }));
    const others = objects.filter((object) => !lost.includes(object));
    expect(expectObjects(others).missing).toEqual(expect.arrayContaining(missing));
    expect(left()).toEqual(['all.tar']);
  });

  it('with its whole repo is one that is gone', async () => {
    const objects = store(10, 20, 30, 40);
    service.closedRepos.add('game');
    expect(await run()).toMatchObject({ code: 0, err: expect.stringContaining('so left out: 2 objects.') });
    expect(readFileSync(file, 'latin1')).toContain(objects[1]?.oid);
  });

  it('is none if the tenant goes while objects are fetched', async () => {
    store(10, 20, 30, 40);
    service.onBatch = () => {
      if (service.batches === 2) service.tenant = 'other';
    };
    const { code, err } = await run();
    expect({ code, err }).toEqual({
      code: 3,
      err: expect.stringContaining('Not found (404): no tenant acme.'),
    });
    expect(existsSync(file)).toBe(false);
  });

  it('is none if the tenant is not there for the token any more', async () => {
    store(10, 20, 30, 40);
    service.onGet = () => ({ status: 500 });
    await run();
    service.tenant = 'other';
    const { code, err } = await run();
    expect(code).toBe(3);
    expect(err).toContain('Not found (404): no tenant acme.');
    expect(existsSync(file)).toBe(false);
  });
});

describe('what cannot work', () => {
  it.each([
    ['admin-token', 'token create acme --scope read'],
    ['wrong', "the admin token can't download"],
  ])('the token %s: says which one to use, before anything is listed', async (token, hint) => {
    store(1);
    const { code, err } = await run([], { token });
    expect({ code, err }).toEqual({ code: 4, err: expect.stringContaining(hint) });
    expect(service.lists).toBe(0);
    expect(left()).toEqual([]);
  });

  it('no token, and a wrong name', async () => {
    const env = { LFS_QUOTA_URL: service.url };
    expect(await cli(['export', 'local', 'acme', '--output', file], { env })).toMatchObject({
      code: 2,
      err: expect.stringContaining('Or set LFS_QUOTA_TOKEN or pass --token. You need a token of the tenant.'),
    });
    expect(await cli(['export', 'local', '..', '--output', file], { env })).toMatchObject({ code: 2 });
    expect(await run(['--format', 'zip'])).toMatchObject({ code: 2 });
    expect(service.batches).toBe(0);
  });

  it('a tenant without objects', async () => {
    expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining('acme stores nothing.') });
    store(1);
    expect(await run(['--repo', 'game'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('acme/game stores nothing.'),
    });
    expect(left()).toEqual([]);
  });

  it('a file that is there is not replaced without --force', async () => {
    store(1);
    writeFileSync(file, 'mine');
    const { code, err } = await run();
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('replace it with --force') });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(service.batches).toBe(0);
  });

  it('a folder that is not there, and a folder as the file', async () => {
    file = path.join(folder, 'no', 'all.tar');
    expect(await run()).toMatchObject({ code: 1, err: expect.stringMatching(/Folder .* not found/) });
    file = folder;
    expect(await run(['--force'])).toMatchObject({ code: 1, err: expect.stringContaining("isn't a file") });
  });

  it.each([{ oid: '../../x' }, { oid: 'F'.repeat(64) }, { repo: '..' }, { repo: 'a b' }])(
    'a server that lists %j, which is no object',
    async (wrong) => {
      const [object] = store(1);
      service.objects.push({ ...(object as FakeObject), ...wrong });
      expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining("isn't lfs-quota's") });
      expect(service.gets).toEqual([]);
    },
  );

  it('a disk without room, before anything is fetched', async () => {
    store(10);
    service.sizeOf = () => 2 ** 42;
    const { code, err } = await run();
    expect(code).toBe(1);
    // What is moved into the archive is there twice for a while.
    expect(err).toMatch(/needs 8 TiB more, and its disk has .* free\.\nFree up space/);
    expect(service.gets).toEqual([]);
  });

  it('a disk that does not take it', async () => {
    store(10);
    service.onGet = () => ({ status: 500 });
    await run();
    const name = parts();
    rmSync(name, { recursive: true });
    writeFileSync(name, '');
    const { code, err } = await run();
    expect(code).toBe(1);
    expect(err).toMatch(
      /Can't write .* \(ENOTDIR\)\.\nFree up space, or use a file that you can write\. Finished/,
    );
  });

  it('two calls at the same time', async () => {
    store(10);
    service.onGet = () => ({ status: 500 });
    await run();
    writeFileSync(`${parts()}.lock`, JSON.stringify({ pid: process.ppid, host: hostname() }));
    expect(await run()).toMatchObject({
      code: 1,
      err: expect.stringContaining(`is in use by process ${process.ppid}, which exports to it.`),
    });
  });
});
