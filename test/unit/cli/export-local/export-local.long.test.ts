import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planExport } from '../../../../lambda/domain/export/plan-export.ts';
import { quickestSettings } from '../../../../lambda/domain/export/plan-settings.ts';
import { s3Limits } from '../../../../lambda/domain/export/store-limits.ts';
import { distinctObjects } from '../../../../lambda/domain/export/stored-object.ts';
import { tarFormat } from '../../../../lambda/domain/export/tar-format.ts';
import { readArchive } from '../../../support/export-archive.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { cli } from '../harness.ts';
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

/** The archive that the planner gives for a worker that streams. */
function planned(
  objects: readonly (FakeObject & { name?: string })[],
  more: { path?: string; missing?: { oid: string; sizeBytes: number | null }[] } = {},
): Buffer {
  const listed = objects.map(({ repo, oid, bytes, name }) => ({
    oid,
    sizeBytes: bytes.length,
    etag: '"e"',
    key: `acme/${repo}/${oid}`,
    ...(name !== undefined && { name }),
  }));
  const plan = planExport(
    {
      objects: distinctObjects(listed).objects,
      format: tarFormat({ modifiedAtMs: createdAtMs }),
      subject: { path: more.path ?? 'acme', startedAtMs: createdAtMs, missing: more.missing ?? [] },
    },
    { ...quickestSettings(s3Limits), way: 'stream' },
  );
  const layout = plan.kind === 'planned' ? plan.volumes[0]?.layout : undefined;
  if (!layout) throw new Error('No plan.');
  return readArchive(
    layout,
    ({ oid }) => objects.find((object) => object.oid === oid)?.bytes ?? Buffer.alloc(0),
  );
}

/** A transfer that ends when so many of its bytes are in the archive. */
function cut(object: FakeObject | undefined, cutAt: number) {
  const last = object?.bytes.subarray(cutAt - 32, cutAt) ?? Buffer.alloc(0);
  return { cutAt, hasArrived: () => readFileSync(`${file}.partial`).includes(last) };
}

const linesOf = (text: string) => text.split('\n').slice(1, -1);
const doneLines = () => {
  const done = `${file}.partial.done`;
  return existsSync(done) ? linesOf(readFileSync(done, 'utf8')) : [];
};

const timesOf = (oid: string) => service.gets.filter((get) => get.oid === oid).length;
const made = () => readFileSync(file);
const left = () => readdirSync(folder).sort();

describe('export local', () => {
  it('makes the archive that the planner gives, and leaves nothing else', async () => {
    const objects = store(5, 0, 100_000, 512, 2_000_000, 513, 1, 2, 3, 4);
    const { code, out, err } = await run();
    expect({ code, err }).toEqual({ code: 0, err: expect.not.stringContaining('error') });
    expect(made().equals(planned(objects))).toBe(true);
    expect(left()).toEqual(['all.tar']);
    const names = execFileSync('tar', ['-tf', file], { encoding: 'utf8' }).trimEnd().split('\n');
    expect(names).toHaveLength(12);
    expect(out).toContain(`tar -x -C .git -f ${file}\n  git lfs checkout\n`);
    expect(service.batches).toBe(3);
    expect(service.gets).toHaveLength(10);
  });

  it('has an object once that two repos have, and those of one repo alone if asked', async () => {
    const [shared, own] = store(10, 20);
    if (!shared || !own) throw new Error('No objects.');
    service.objects.push({ ...shared, repo: 'game' });
    expect(await run()).toMatchObject({ code: 0 });
    expect(made().equals(planned([shared, own]))).toBe(true);
    expect(timesOf(shared.oid)).toBe(1);
    expect(await run(['--repo', 'game.git', '--force'])).toMatchObject({ code: 0 });
    const inGame = [{ ...shared, repo: 'game' }, own];
    expect(made().equals(planned(inGame, { path: 'acme/game' }))).toBe(true);
  });

  it('has the objects of a list, under their names, and names what is not stored', async () => {
    const [one, two, other] = store(10, 20, 30);
    const absent = 'f'.repeat(64);
    const list = path.join(folder, 'list.txt');
    writeFileSync(list, `${one?.oid} * a/one.bin\n${two?.oid}\n${absent} - gone.bin\n`);
    const { code, out, err } = await run(['--objects', list]);
    expect(code).toBe(0);
    const wanted = [{ ...(one as FakeObject), name: 'a/one.bin' }, two as FakeObject];
    expect(made().equals(planned(wanted, { missing: [{ oid: absent, sizeBytes: null }] }))).toBe(true);
    expect(timesOf(other?.oid ?? '')).toBe(0);
    expect(out).toMatch(/never into \.git: .*\n {2}tar -x -f \S+\n$/);
    expect(err).toContain('It lacks 1 object not stored now');
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
    expect(service.gets).toHaveLength(402);
  });

  it('stopped with Ctrl-C goes on, and fetches nothing twice that was complete', async () => {
    const objects = store(...Array.from({ length: 30 }, (_, index) => 1000 + index));
    let interrupt = () => {};
    const complete = new Set<string>();
    service.onGet = (oid) => {
      if (service.gets.length < 20) {
        complete.add(oid);
        return undefined;
      }
      const timer = setInterval(() => {
        if (doneLines().length < complete.size) return;
        clearInterval(timer);
        interrupt();
      }, 10);
      return 'hang';
    };
    const onInterrupt = (listener: () => void) => {
      interrupt = listener;
      return () => {};
    };
    const stopped = await run([], { onInterrupt });
    expect(stopped).toMatchObject({ code: 130, out: '' });
    expect(stopped.err).toContain(
      `error: Stopped.\nWhat is complete is kept. Go on with \`lfs-quota export local acme --output ${file}\`.`,
    );
    expect(left()).toEqual(['all.tar.partial', 'all.tar.partial.done', 'all.tar.partial.list']);
    service.onGet = () => undefined;
    service.gets.length = 0;
    store(77);
    const again = await run([], { now: () => createdAtMs + 60_000 });
    expect(again).toMatchObject({ code: 0 });
    expect(again.err).toContain(
      `Going on with the export of 2026-11-21T05:00:00.000Z: ${complete.size} of 30`,
    );
    expect(service.gets.filter(({ oid }) => complete.has(oid))).toEqual([]);
    // As it was when it began: without what was pushed since.
    expect(made().equals(planned(objects))).toBe(true);
    expect(left()).toEqual(['all.tar']);
  });

  it('goes on after any line of the file that says what is complete, and after a part of one', async () => {
    const objects = store(...Array.from({ length: 9 }, (_, index) => 10 + index));
    const oids = objects.map(({ oid }) => oid).sort();
    // The last one alone fails, and only once the others are there.
    const isLast = (oid: string) => oid === oids[4];
    service.onGet = (oid) => (isLast(oid) ? { status: 500 } : undefined);
    const done = `${file}.partial.done`;
    const untilOthersAreDone = async () => {
      for (let calls = 0; doneLines().length < 8; calls += 1) {
        expect(calls).toBeLessThan(20);
        const { code, err } = await run();
        expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('The store answered 500.') });
      }
    };
    await untilOthersAreDone();
    const whole = readFileSync(done, 'utf8');
    const cuts = [whole.length - 1, whole.length - 9, whole.length - 10, whole.indexOf('\n') + 3, 70, 3, 0];
    const changed = [whole.replace(/^./, 'z'), `${whole}9 00000000\n-1 x\n0 zzzzzzzz\n1e0 x\n`];
    for (const text of [...cuts.map((cut) => whole.slice(0, cut)), ...changed]) {
      writeFileSync(done, text);
      const isOfIt = text.startsWith(whole.slice(0, 65));
      const kept = linesOf(text).filter((line) => isOfIt && linesOf(whole).includes(line));
      service.gets.length = 0;
      await run();
      expect(doneLines()).toEqual(expect.arrayContaining(kept));
      const again = service.gets.filter(({ oid }) =>
        kept.includes(`${oids.indexOf(oid)} ${oid.slice(0, 8)}`),
      );
      expect(again).toEqual([]);
      await untilOthersAreDone();
      expect(doneLines().sort()).toEqual(linesOf(whole).sort());
    }
    service.onGet = () => undefined;
    expect(await run()).toMatchObject({ code: 0 });
    expect(made().equals(planned(objects))).toBe(true);
  });

  it('fetches all again if the archive is not as long as it was', async () => {
    const objects = store(10, 20, 30);
    service.onGet = (oid) => (oid === objects[1]?.oid ? { status: 500 } : undefined);
    await run();
    writeFileSync(`${file}.partial`, 'cut');
    service.onGet = () => undefined;
    service.gets.length = 0;
    expect(await run()).toMatchObject({ code: 0 });
    expect(service.gets).toHaveLength(3);
    expect(made().equals(planned(objects))).toBe(true);
  });
});

describe('a transfer', () => {
  it('that breaks off goes on where it was', async () => {
    const objects = store(1_000_000);
    service.onGet = (_oid, times) => (times < 2 ? cut(objects[0], 300_000 * (times + 1)) : undefined);
    expect(await run()).toMatchObject({ code: 0 });
    expect(made().equals(planned(objects))).toBe(true);
    expect(service.gets.map(({ from }) => from)).toEqual([0, 300_000, 600_000]);
  });

  it('that breaks off begins anew, if the store knows no ranges', async () => {
    const objects = store(1_000_000);
    service.knowsRanges = false;
    service.onGet = (_oid, times) => (times === 0 ? cut(objects[0], 500_000) : undefined);
    expect(await run()).toMatchObject({ code: 0 });
    expect(made().equals(planned(objects))).toBe(true);
  });

  it('whose URL has expired is asked for again', async () => {
    const objects = store(10, 20);
    service.onGet = (_oid, times) => (times === 0 ? { status: 403 } : undefined);
    expect(await run()).toMatchObject({ code: 0 });
    expect(made().equals(planned(objects))).toBe(true);
    expect(service.batches).toBe(1 + 2 + 2);
  });

  it('whose URL is too old by the time it is used is not tried with it', async () => {
    const objects = store(10, 20);
    // Its last ten seconds do not count. The clock goes on when the second batch is asked for.
    service.expiresInSeconds = 11;
    let nowMs = createdAtMs;
    const tries: number[] = [];
    service.onGet = () => {
      tries.push(service.batches);
      return undefined;
    };
    service.onBatch = () => {
      if (service.batches === 2) nowMs += 5000;
    };
    expect(await run([], { now: () => nowMs })).toMatchObject({ code: 0 });
    expect(made().equals(planned(objects))).toBe(true);
    expect(tries.every((batches) => batches > 2)).toBe(true);
  });

  it('that brings wrong bytes once is repeated; twice, its object is named and the others stay', async () => {
    const objects = store(100, 200, 300);
    const [wrong] = objects;
    const wrongBytes = { bytes: randomBytes(100) };
    service.onGet = (oid, times) => (oid === wrong?.oid && times === 0 ? wrongBytes : undefined);
    expect(await run()).toMatchObject({ code: 0 });
    expect(made().equals(planned(objects))).toBe(true);
    service.onGet = (oid) => (oid === wrong?.oid ? wrongBytes : undefined);
    const { code, err } = await run(['--force']);
    expect(code).toBe(1);
    expect(err).toContain(
      `1 object cannot be exported. The others are there.\n${wrong?.oid}: Its bytes have`,
    );
    service.onGet = () => undefined;
    service.gets.length = 0;
    expect(await run(['--force'])).toMatchObject({ code: 0 });
    expect(service.gets.map(({ oid }) => oid)).toEqual([wrong?.oid]);
    expect(made().equals(planned(objects))).toBe(true);
  });

  it('of more bytes than the object has is refused', async () => {
    const [object] = store(100);
    service.onGet = () => ({ bytes: randomBytes(200) });
    expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining('sent more than the object') });
    expect(statSync(`${file}.partial`).size).toBe(planned([object as FakeObject]).length);
  });

  it('is tried again while the API asks to wait', async () => {
    store(1);
    service.batchStatuses.push(503, 429, 500);
    expect(await run()).toMatchObject({ code: 0 });
    service.batchStatuses.push(...Array.from({ length: 6 }, () => 503));
    expect(await run(['--force'])).toMatchObject({ code: 6, err: expect.stringContaining('answered 503') });
  });
});

describe('an object that is gone meanwhile', () => {
  it.each(['the batch', 'the store'])('is left out and named in the manifest, if %s says so', async (who) => {
    const objects = store(1000, 20_000, 30, 400_000, 5, 0);
    const lost = [...objects].sort((a, b) => (a.oid < b.oid ? -1 : 1)).filter((_, index) => index % 3 === 1);
    if (who === 'the batch') for (const { oid } of lost) service.gone.add(oid);
    else {
      const body = '<Error><Code>NoSuchKey</Code></Error>';
      service.onGet = (oid) =>
        lost.some((object) => object.oid === oid) ? { status: 404, body } : undefined;
    }
    const { code, err } = await run();
    expect(code).toBe(0);
    expect(err).toContain('It lacks 2 objects not stored now');
    const missing = lost.map(({ oid, bytes }) => ({ oid, sizeBytes: bytes.length }));
    const others = objects.filter((object) => !lost.includes(object));
    expect(made().equals(planned(others, { missing }))).toBe(true);
    expect(left()).toEqual(['all.tar']);
  });

  it('with its whole repo is one that is gone', async () => {
    const objects = store(10, 20, 30, 40);
    service.closedRepos.add('game');
    expect(await run()).toMatchObject({ code: 0, err: expect.stringContaining('lacks 2 objects') });
    expect(readFileSync(file, 'latin1')).toContain(objects[1]?.oid);
  });

  it('is none if the tenant goes while objects are fetched', async () => {
    store(10, 20, 30, 40);
    service.onBatch = () => {
      if (service.batches === 2) service.tenant = 'other';
    };
    const { code, err } = await run();
    expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining('There is no tenant acme') });
    expect(existsSync(file)).toBe(false);
  });

  it('is none if the tenant is not there for the token any more', async () => {
    store(10, 20, 30, 40);
    service.onGet = () => ({ status: 500 });
    await run();
    service.tenant = 'other';
    const { code, err } = await run();
    expect(code).toBe(3);
    expect(err).toContain('There is no tenant acme for this token (404).');
    expect(existsSync(file)).toBe(false);
  });
});

describe('what cannot work', () => {
  it.each([
    ['admin-token', 'token create acme --scope read'],
    ['wrong', 'Set LFS_QUOTA_TOKEN (or --token) to a token of the tenant'],
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
      err: expect.stringContaining('to a token of the tenant.'),
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
    expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining('There is no folder') });
    file = folder;
    expect(await run(['--force'])).toMatchObject({ code: 1, err: expect.stringContaining('is no file') });
    file = path.join(folder, 'all.tar');
    mkdirSync(`${file}.partial`);
    store(1);
    expect(await run()).toMatchObject({
      code: 1,
      err: expect.stringMatching(/cannot be written|is no file/),
    });
  });

  it('an archive that is being made from something else, until it is begun anew', async () => {
    const objects = store(10, 20);
    service.onGet = () => ({ status: 500 });
    await run();
    service.onGet = () => undefined;
    const other = await run(['--repo', 'art']);
    expect(other).toMatchObject({ code: 1 });
    expect(other.err).toContain('belongs to another export: one of all repos, not of the repo art.');
    expect(await run(['--repo', 'art', '--fresh'])).toMatchObject({ code: 0 });
    expect(made().equals(planned(objects.slice(0, 1), { path: 'acme/art' }))).toBe(true);
  });

  it.each([
    ['{"format":"lfs-quota export local","version":2}\n', 'newer version'],
    ['hello', 'is not as'],
    ['{"format":"lfs-quota export local","version":1,"sha256":"00"}\n{}\n', 'is not as'],
  ])('a list that says %j', async (text, message) => {
    store(1);
    writeFileSync(`${file}.partial.list`, text);
    expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining(message) });
    expect(readFileSync(`${file}.partial.list`, 'utf8')).toBe(text);
    expect(await run(['--fresh'])).toMatchObject({ code: 0 });
  });

  it.each([{ oid: '../../x' }, { oid: 'F'.repeat(64) }, { repo: '..' }, { repo: 'a b' }])(
    'a server that lists %j, which is no object',
    async (wrong) => {
      const [object] = store(1);
      service.objects.push({ ...(object as FakeObject), ...wrong });
      expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining("is not lfs-quota's") });
      expect(service.gets).toEqual([]);
    },
  );

  it('a disk without room, before anything is fetched', async () => {
    store(10);
    service.sizeOf = () => 2 ** 42;
    const { code, err } = await run();
    expect(code).toBe(1);
    expect(err).toMatch(/needs 4 TiB more, and its disk has .* free\.\nFree some space/);
    expect(service.gets).toEqual([]);
  });

  it('two calls at the same time', async () => {
    store(10);
    writeFileSync(`${file}.partial.lock`, JSON.stringify({ pid: process.ppid, host: hostname() }));
    expect(await run()).toMatchObject({
      code: 1,
      err: expect.stringContaining(`is in use by process ${process.ppid}, which exports to it.`),
    });
  });
});
