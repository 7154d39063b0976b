import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { openSync, rmSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { validateHeaderValue } from 'node:http';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ObjectFiles } from '../../../../local/store/files.ts';
import { sendRaw } from '../../../support/raw-request.ts';
import { StoreFixture, signHeaders } from '../../../support/store-fixture.ts';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return { ...fs, openSync: vi.fn(fs.openSync), rmSync: vi.fn(fs.rmSync) };
});

let store: StoreFixture;
const told: { file: string; key?: string; error?: unknown }[] = [];
const onDamage = (file: (typeof told)[number]) => void told.push(file);

beforeEach(async () => {
  told.length = 0;
  store = await StoreFixture.start({ onDamage });
});

afterEach(async () => {
  expect(store.errors).toEqual([]);
  await store.stop();
});

const sizes = { empty: 0, small: 70_000, large: 1_000_000 };
const bytesOf = (key: string) => Buffer.alloc(sizes[key as keyof typeof sizes] ?? 1_000, `${key} `);
const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes);
const pathOf = (key: string) => `/objects/${key}`;
const fileOf = (key: string) => {
  const name = sha256(key).digest('hex');
  return path.join(store.dataDir, 'objects', name.slice(0, 2), name.slice(2));
};

const put = (key: string) => store.send({ method: 'PUT', path: pathOf(key), body: bytesOf(key) });
const get = (key: string, headers = {}) => store.send({ method: 'GET', path: pathOf(key), headers });
const list = async () => {
  const { body } = await store.send({ method: 'GET', path: '/objects', query: { 'list-type': '2' } });
  return [...body.toString().matchAll(/<Key>([^<]*)/g)].map(([, key]) => key);
};
/** All that a reader asks. */
const seen = async (key: string) => [
  (await get(key)).status,
  (await store.send({ method: 'HEAD', path: pathOf(key) })).status,
  store.head(key) !== undefined,
  (await list()).includes(key),
];
const there = [200, 200, true, true];
const gone = [404, 404, false, false];

/** Every folder and file of a store that has been used, whatever it keeps there. */
async function used(): Promise<{ folders: string[]; files: string[] }> {
  for (const key of Object.keys(sizes)) await put(key);
  const begun = await store.send({ method: 'POST', path: pathOf('parts'), query: { uploads: '' } });
  const uploadId = /<UploadId>([^<]*)/.exec(begun.body.toString())?.[1] ?? '';
  const query = { uploadId, partNumber: '1' };
  await store.send({ method: 'PUT', path: pathOf('parts'), query, body: Buffer.alloc(9_000) });
  const entries = await readdir(store.dataDir, { recursive: true, withFileTypes: true });
  const named = (isWanted: (entry: (typeof entries)[number]) => boolean) =>
    entries.filter(isWanted).map(({ parentPath, name }) => path.join(parentPath, name));
  return {
    folders: [store.dataDir, ...named((each) => each.isDirectory())],
    files: named((each) => each.isFile()),
  };
}

describe('at the start', () => {
  it('what is not of the store is ignored and told of, in whatever folder', async () => {
    const { folders, files } = await used();
    const foreign: string[] = [];
    for (const folder of folders) {
      for (const name of ['.DS_Store', 'x.bak', 'Thumbs.db', 'ab.tmp']) foreign.push(path.join(folder, name));
      await mkdir(path.join(folder, 'lost+found', 'deeper'), { recursive: true });
    }
    // What rsync has while it copies, and what a power cut leaves of it.
    for (const file of files)
      foreign.push(path.join(path.dirname(file), `.${path.basename(file)}.Ab12Cd`), `${file}~`);
    for (const file of foreign) await writeFile(file, 'foreign');
    await store.restart({ onDamage });
    for (const key of Object.keys(sizes)) expect(await seen(key)).toEqual(there);
    expect((await list()).sort()).toEqual(Object.keys(sizes).sort());
    // Unfinished uploads are the store's own, and go.
    const kept = foreign.filter((file) => !file.includes(`${path.sep}uploads${path.sep}`));
    for (const file of kept) expect((await stat(file)).size).toBe(7);
    expect(told.length).toBe(20);
    expect((await store.damage()).foreign).toBeGreaterThan(20);
  });

  it('a file that is not whole is set aside, and keeps nothing else from starting', async () => {
    const { files } = await used();
    expect(files.length).toBeGreaterThan(Object.keys(sizes).length + 1);
    for (const file of files)
      for (const share of [0, 0.5, 0.999]) {
        const whole = await readFile(file);
        await truncate(file, Math.floor(whole.length * share));
        await store.restart({ onDamage });
        const damaged = Object.keys(sizes).find((key) => fileOf(key) === file);
        for (const key of Object.keys(sizes)) {
          expect(await seen(key)).toEqual(key === damaged ? gone : there);
          if (key === damaged) expect((await put(key)).status).toBe(200);
        }
        await mkdir(path.dirname(file), { recursive: true });
        await writeFile(file, whole);
      }
    const { damaged } = await store.damage();
    expect(damaged).toBeGreaterThanOrEqual(Object.keys(sizes).length);
  });

  it.each([
    ['the file of another object', () => copyFile(fileOf('large'), fileOf('small'))],
    ['a folder', () => rm(fileOf('small')).then(() => mkdir(fileOf('small')))],
    ['a record whose field was renamed by a flipped bit', () => flip('small', '"lastModifiedMs"')],
  ])('%s where an object was is set aside', async (_, damage) => {
    for (const key of Object.keys(sizes)) await put(key);
    await damage();
    await store.restart({ onDamage });
    expect([await seen('small'), await seen('large')]).toEqual([gone, there]);
    expect(told).toMatchObject([{ file: fileOf('small') }]);
    expect(await store.damage()).toEqual({ lost: 0, damaged: 1, foreign: 0 });
    expect([(await put('small')).status, await seen('small')]).toEqual([200, there]);
  });

  it.each(['EACCES', 'EPERM'])(
    '%s: what this user cannot read is told, and left where it is',
    async (code) => {
      await put('large');
      vi.mocked(openSync).mockImplementationOnce(() => {
        throw Object.assign(new Error(code), { code });
      });
      await store.restart({ onDamage });
      expect([await seen('large'), (await store.damage()).damaged]).toEqual([gone, 1]);
      expect(told).toMatchObject([{ file: fileOf('large'), error: { code } }]);
      await store.restart({ onDamage });
      expect([await seen('large'), (await store.damage()).damaged]).toEqual([there, 0]);
    },
  );

  it('whichever bit of a record is flipped, the server starts, and the object is served or set aside', async () => {
    await put('small');
    const { sizeBytes } = store.head('small') ?? { sizeBytes: 0 };
    const file = fileOf('small');
    await store.close();
    const good = await readFile(file);
    for (let bit = 8 * sizeBytes; bit < 8 * good.length; bit += 1) {
      const bytes = Buffer.from(good);
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      await writeFile(file, bytes);
      const files = new ObjectFiles(store.dataDir);
      const record = files.index.get('small');
      const { damaged } = await files.damage.read();
      expect(damaged, `bit ${bit}`).toBe(record ? 0 : 1);
      await rm(path.join(store.dataDir, 'set-aside'), { recursive: true, force: true });
      if (!record) continue;
      const { etag, checksums, lastModifiedMs } = record;
      for (const value of [etag, checksums.sha256 ?? '']) validateHeaderValue('etag', value);
      expect(new Date(lastModifiedMs).toISOString()).toMatch(/^\d{4}-/);
    }
    await writeFile(file, good);
    await store.restart();
    expect(await seen('small')).toEqual(there);
  });

  it.runIf(process.platform !== 'win32')('a named pipe is not waited for, whatever name it has', async () => {
    const { files } = await used();
    await store.close();
    for (const file of files) {
      await rm(file);
      execFileSync('mkfifo', [file]);
    }
    await store.restart({ onDamage });
    expect(await list()).toEqual([]);
    expect(told.map((each) => each.file)).toContain(fileOf('small'));
  });

  it('rests that this user cannot remove are told of, and stop no start', async () => {
    const { folders } = await used();
    for (const folder of folders) await rm(path.join(folder, 'upload.json'), { force: true });
    const denied = Object.assign(new Error('EACCES'), { code: 'EACCES' });
    vi.mocked(rmSync).mockImplementation(() => {
      throw denied;
    });
    await store.restart({ onDamage });
    vi.mocked(rmSync).mockRestore();
    const rests = folders.filter((folder) => /uploads$|multipart.+/.test(folder));
    expect(told).toEqual(
      rests
        .sort()
        .map((file) => ({ file, error: denied }))
        .reverse(),
    );
    expect((await put('small')).status).toBe(200);
  });

  it('a file where a folder of objects would be is set aside', async () => {
    await put('small');
    const folder = path.dirname(fileOf('small'));
    await rm(folder, { recursive: true });
    await writeFile(folder, 'no folder');
    await store.restart({ onDamage });
    expect([(await put('small')).status, await seen('small')]).toEqual([200, there]);
  });
});

/** Changes one bit of an object's file, from where a text begins. */
async function flip(key: string, from: string, by = 1): Promise<void> {
  const bytes = await readFile(fileOf(key));
  const at = bytes.indexOf(from) + by;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(fileOf(key), bytes);
}

describe('while it runs', () => {
  const damages: [string, (key: string) => Promise<unknown>][] = [
    ['is removed', (key) => rm(fileOf(key))],
    ['is cut', (key) => truncate(fileOf(key), 300)],
    ['is emptied', (key) => truncate(fileOf(key), 0)],
    ['is another', (key) => copyFile(fileOf('other'), fileOf(key))],
    ['is a folder', (key) => rm(fileOf(key)).then(() => mkdir(fileOf(key)))],
    ['loses its folder', (key) => rm(path.dirname(fileOf(key)), { recursive: true })],
  ];

  it.each(damages)(
    'an object whose file %s is taken out by the first read, and a push heals it',
    async (_, damage) => {
      await put('other');
      for (const key of Object.keys(sizes))
        for (const headers of [{}, { range: 'bytes=0-9' }]) {
          told.length = 0;
          await put(key);
          await damage(key);
          const { status } = await get(key, headers);
          expect([key, status]).toEqual([key, key === 'empty' && 'range' in headers ? 416 : 404]);
          if (status === 416) expect((await get(key)).status).toBe(404);
          expect(await seen(key)).toEqual(gone);
          expect(told).toMatchObject([{ file: fileOf(key), key, error: expect.any(Error) }]);
          expect((await store.damage()).lost).toBe(1);
          await put(key);
          expect([await seen(key), (await get(key)).body.equals(bytesOf(key))]).toEqual([there, true]);
          expect((await store.damage()).lost).toBe(0);
        }
    },
  );

  it('a deleted object is not lost any more', async () => {
    await put('small');
    await rm(fileOf('small'));
    await get('small');
    expect((await store.damage()).lost).toBe(1);
    await store.send({ method: 'DELETE', path: pathOf('small') });
    expect((await store.damage()).lost).toBe(0);
  });

  it('a copy of a lost object says that it is gone', async () => {
    await put('small');
    await rm(fileOf('small'));
    const begun = await store.send({ method: 'POST', path: pathOf('copy'), query: { uploads: '' } });
    const uploadId = /<UploadId>([^<]*)/.exec(begun.body.toString())?.[1] ?? '';
    const headers = { 'x-amz-copy-source': 'objects/small' };
    const query = { uploadId, partNumber: '1' };
    const copied = await store.send({ method: 'PUT', path: pathOf('copy'), query, headers });
    expect([copied.status, copied.code, await seen('small')]).toEqual([404, 'NoSuchKey', gone]);
  });

  it.each(['EMFILE', 'ENFILE', 'ENOMEM', 'ESTALE', 'ETIMEDOUT'])(
    '%s is no fault of the object, which stays',
    async (code) => {
      await put('small');
      vi.mocked(openSync).mockImplementationOnce(() => {
        throw Object.assign(new Error(code), { code });
      });
      expect((await get('small')).status).toBe(500);
      expect(await seen('small')).toEqual(there);
      expect((store.errors as unknown[]).splice(0)).toHaveLength(1);
    },
  );

  it('a wrong byte of a small object is found before anything of it is sent', async () => {
    await put('small');
    await flip('small', 'small', 30_000);
    expect((await get('small', { range: 'bytes=0-9' })).status).toBe(206);
    expect([(await get('small')).status, await seen('small')]).toEqual([404, gone]);
    expect(await store.damage()).toMatchObject({ lost: 1, damaged: 1 });
  });

  it.each([1, 500_000, 999_990])(
    'a wrong byte of a larger one cuts it off before its end: %d',
    async (at) => {
      await put('large');
      await flip('large', 'large', at);
      const { href, headers } = await signHeaders(store.url, { method: 'GET', path: pathOf('large') });
      await expect(sendRaw({ method: 'GET', href, headers })).rejects.toThrow('aborted');
      expect(await seen('large')).toEqual(gone);
      expect([(await put('large')).status, await seen('large')]).toEqual([200, there]);
    },
  );

  it('an object that is replaced while it is read is not taken out', async () => {
    await put('large');
    await flip('large', 'large');
    const reading = get('large').catch(() => undefined);
    await Promise.all([reading, put('large')]);
    expect((await put('large')).status).toBe(200);
    expect(await seen('large')).toEqual(there);
  });

  it('a damaged object can be discarded, and a whole one cannot', async () => {
    for (const key of Object.keys(sizes)) await put(key);
    expect(await store.discardDamaged('none')).toBeUndefined();
    for (const key of Object.keys(sizes)) expect(await store.discardDamaged(key)).toBeUndefined();
    await flip('large', 'large');
    await truncate(fileOf('small'), 9);
    await rm(fileOf('empty'));
    for (const [key, bytes] of Object.entries(sizes)) {
      expect(await store.discardDamaged(key)).toBe(bytes);
      expect(await seen(key)).toEqual(gone);
    }
  });
});
