import { beforeEach, describe, expect, it } from 'vitest';
import {
  adoptedArchives,
  adoptedListing,
  adoptedSigner,
  adoptedStore,
} from '../../../../../lambda/core/store/adopted.ts';
import {
  AdoptedPathError,
  type AdoptedRepo,
  AdoptedRepos,
} from '../../../../../lambda/core/store/rules/adopted-repos.ts';
import {
  type ArchiveStore,
  ObjectExistsError,
  SourceGoneError,
} from '../../../../../lambda/core/store/rules/archive-store.ts';
import type { UrlSigner } from '../../../../../lambda/core/store/rules/store.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';

const oid = 'abcd'.padEnd(64, '0');
const key = `acme/game/${oid}`;
const stored = `lfs/ab/cd/${oid.slice(4)}`;
const game: AdoptedRepo = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' };
const repos = new AdoptedRepos([game]);
const soon = { deadlineMs: Number.MAX_SAFE_INTEGER };

describe('a stage without adopted repos', () => {
  it('has nothing between its functions and the bucket', () => {
    const none = new AdoptedRepos([]);
    const [memory, archives] = [new MemoryObjectStore(), new MemoryArchiveStore()];
    const listing = Object.assign(memory, { warmUp: async () => {} });
    expect(adoptedStore(memory, none)).toBe(memory);
    expect(adoptedListing(listing, none)).toBe(listing);
    expect(adoptedArchives(archives, none)).toBe(archives);
    const signer = {} as UrlSigner;
    expect(adoptedSigner(signer, none)).toBe(signer);
  });
});

describe('objects of an adopted repo', () => {
  let memory: MemoryObjectStore;
  beforeEach(() => {
    memory = new MemoryObjectStore();
    memory.put(stored, 7);
    memory.put(`acme/game2/${oid}`, 8);
    memory.put('acme/game/readme', 9);
  });

  it('are asked for, and deleted, where they are stored', async () => {
    const store = adoptedStore(memory, repos);
    expect(await store.head(key)).toMatchObject({ sizeBytes: 7 });
    expect(await store.head(`acme/game2/${oid}`)).toMatchObject({ sizeBytes: 8 });
    expect(await store.head(`acme/game/${oid.replace('a', 'b')}`)).toBeUndefined();
    expect(await store.putEmpty(key, { mark: 'm', onlyNew: true, ...soon })).toBe('taken');
    expect(await store.putEmpty(key, { mark: 'm', onlyNew: false, ...soon })).toBe('put');
    expect(await memory.head(stored)).toMatchObject({ sizeBytes: 0 });
    await store.delete([key], soon);
    expect(await memory.head(stored)).toBeUndefined();
    expect(memory.objectCount).toBe(2);
  });

  it('are all that there is: what is hidden is neither found nor deleted', async () => {
    const store = adoptedStore(memory, repos);
    expect(await store.head('acme/game/readme')).toBeUndefined();
    await store.delete(['acme/game/readme'], soon);
    expect(memory.objectCount).toBe(3);
    // The store is not even asked.
    const asked = () => Promise.reject(new Error('Nothing is to be asked.'));
    const unused = adoptedStore({ head: asked, delete: asked, putEmpty: asked }, repos);
    expect(await unused.head('acme/game/readme')).toBeUndefined();
    await unused.delete(['acme/game/readme'], soon);
    await expect(unused.putEmpty('acme/game/readme', { mark: 'm', onlyNew: false, ...soon })).rejects.toThrow(
      RangeError,
    );
  });

  it('are never reached under the name of another tenant', async () => {
    const store = adoptedStore(memory, repos);
    await expect(store.head(stored)).rejects.toThrow(AdoptedPathError);
    await expect(store.delete([stored], soon)).rejects.toThrow(AdoptedPathError);
    expect(memory.objectCount).toBe(3);
  });
});

describe('URLs of an adopted repo', () => {
  const signed: string[] = [];
  const sign = async ({ key: signedKey }: { key: string }) => {
    signed.push(signedKey);
    return { href: signedKey, header: {} };
  };
  let signer: UrlSigner;
  beforeEach(() => {
    signer = adoptedSigner({ signUpload: sign, signDownload: sign }, repos);
  });
  const upload = { oid, sizeBytes: 1, signedAtMs: 0, lifetimeMs: 1000 };
  const download = { signedAtMs: 0, lifetimeMs: 1000 };

  it('are those of where its objects are stored', async () => {
    expect(await signer.signUpload({ key, ...upload })).toMatchObject({ href: stored });
    expect(await signer.signDownload({ key, ...download })).toMatchObject({ href: stored });
    const own = '_gc/acme/w/keep-1';
    expect(await signer.signUpload({ key: own, ...upload })).toMatchObject({ href: own });
  });

  it('are signed for nothing else below it, and for nobody else', async () => {
    signed.length = 0;
    await expect(signer.signDownload({ key: 'acme/game/readme', ...download })).rejects.toThrow(RangeError);
    const none = signer.signUpload({ key: 'acme/game/x', ...upload });
    await expect(none).rejects.toThrow('An adopted repo has only objects.');
    await expect(signer.signUpload({ key: stored, ...upload })).rejects.toThrow(AdoptedPathError);
    await expect(signer.signDownload({ key: stored, ...download })).rejects.toThrow(AdoptedPathError);
    expect(signed).toEqual([]);
  });
});

describe('archives of an adopted repo', () => {
  let inner: MemoryArchiveStore;
  let archives: ArchiveStore;
  const bytes = Buffer.from('content');
  beforeEach(() => {
    inner = new MemoryArchiveStore({ limits: { partBytesMin: 1 } });
    archives = adoptedArchives(inner, repos);
  });

  it('may be objects of it, made of parts where they are stored', async () => {
    const other = oid.replace('a', 'b');
    const [whole, storedWhole] = [`acme/game/${other}`, `lfs/bb/cd/${other.slice(4)}`];
    const upload = await archives.createUpload(whole);
    expect(upload.key).toBe(whole);
    expect(inner.openUploads).toMatchObject([{ key: storedWhole }]);
    const part = await archives.uploadPart(upload, { number: 1, bytes: Buffer.from('part') });
    for await (const parts of archives.parts(upload)) expect(parts).toEqual([part]);
    await archives.complete(upload, [part], { ifAbsent: true, totalBytes: 4 });
    expect([await inner.get(storedWhole), await inner.get(whole)]).toEqual([
      Uint8Array.from(Buffer.from('part')),
      undefined,
    ]);
    const again = await archives.createUpload(whole);
    const same = await archives.uploadPart(again, { number: 1, bytes: Buffer.from('part') });
    await expect(archives.complete(again, [same], { ifAbsent: true })).rejects.toThrow(ObjectExistsError);
    await archives.abort(again);
    expect(inner.openUploads).toEqual([]);
    await expect(archives.createUpload('acme/game/readme')).rejects.toThrow(
      'An adopted repo has only objects.',
    );
  });

  it('are made of its objects where they are stored', async () => {
    await inner.put(stored, bytes);
    const found = await archives.head(key);
    expect(found?.sizeBytes).toBe(bytes.length);
    expect(await archives.get(key)).toEqual(await inner.get(stored));
    const source = { key, etag: found?.etag ?? '' };
    const read = new Uint8Array(3);
    await archives.readInto(source, { startByte: 1, endByte: 4 }, read);
    expect(Buffer.from(read).toString()).toBe('ont');
    const upload = await archives.createUpload('_exports/acme/1/a.tar');
    const copied = await archives.copyPart(upload, { number: 1, source, sizeBytes: bytes.length });
    const made = await archives.uploadPart(upload, { number: 2, bytes });
    for await (const parts of archives.parts(upload)) expect(parts).toHaveLength(2);
    await archives.complete(upload, [copied, made]);
    expect(Buffer.from((await inner.get('_exports/acme/1/a.tar')) ?? []).toString()).toBe('contentcontent');
  });

  it('say by their keys which of its objects are gone', async () => {
    await inner.put(stored, bytes);
    const read = archives.readInto({ key, etag: '"old"' }, { startByte: 0, endByte: 1 }, new Uint8Array(1));
    await expect(read).rejects.toThrow(SourceGoneError);
    await expect(read).rejects.toMatchObject({ source: { key } });
    const hidden = { key: 'acme/game/readme', etag: '' };
    const none = archives.readInto(hidden, { startByte: 0, endByte: 1 }, new Uint8Array(1));
    await expect(none).rejects.toMatchObject({ name: 'SourceGoneError', source: hidden });
    expect(await archives.head(hidden.key)).toBeUndefined();
    expect(await archives.get(hidden.key)).toBeUndefined();
    const calls = inner.calls.length;
    await archives.head(hidden.key);
    await archives.get(hidden.key);
    await expect(
      archives.readInto(hidden, { startByte: 0, endByte: 1 }, new Uint8Array(1)),
    ).rejects.toThrow();
    expect(inner.calls).toHaveLength(calls);
  });

  it('say what the store said of it', async () => {
    const read = archives.readInto({ key, etag: '"none"' }, { startByte: 0, endByte: 1 }, new Uint8Array(1));
    const error = await read.catch((failure: unknown) => failure as Error);
    expect(error).toMatchObject({
      source: { key },
      cause: { name: 'SourceGoneError', source: { key: stored } },
    });
  });

  it('pass on any other failure', async () => {
    const failing = adoptedArchives(
      Object.assign(new MemoryArchiveStore(), { readInto: () => Promise.reject(new Error('Broken.')) }),
      repos,
    );
    const read = failing.readInto({ key, etag: '' }, { startByte: 0, endByte: 1 }, new Uint8Array(1));
    await expect(read).rejects.toThrow('Broken.');
  });

  it('are written, listed and removed in the folder of the service alone', async () => {
    const file = '_exports/acme/1/list';
    await archives.put(file, bytes);
    expect((await archives.putSource(`${file}2`, bytes)).key).toBe(`${file}2`);
    const upload = await archives.createUpload(`${file}3`);
    for await (const uploads of archives.uploads('_exports/')) expect(uploads).toHaveLength(1);
    await archives.abort(upload);
    expect(inner.openUploads).toEqual([]);
    for await (const keys of archives.list('_exports/')) expect(keys).toEqual([file, `${file}2`]);
    await archives.delete([file]);
    expect(await inner.get(file)).toBeUndefined();

    await inner.put(stored, bytes);
    const foreign = { key: stored, uploadId: '1' };
    const part = { number: 1, source: { key, etag: '' }, sizeBytes: 1 };
    await expect(archives.put(stored, bytes)).rejects.toThrow(AdoptedPathError);
    await expect(archives.putSource(stored, bytes)).rejects.toThrow(AdoptedPathError);
    await expect(archives.delete([file, stored])).rejects.toThrow(AdoptedPathError);
    await expect(archives.createUpload(stored)).rejects.toThrow(AdoptedPathError);
    expect(() => archives.copyPart(foreign, part)).toThrow(AdoptedPathError);
    expect(() => archives.list('lfs/')).toThrow(AdoptedPathError);
    expect(() => archives.uploads('lfs/')).toThrow(AdoptedPathError);
    expect(await inner.get(stored)).toBeDefined();
  });
});
