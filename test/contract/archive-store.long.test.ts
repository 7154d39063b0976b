import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { nameLayouts } from '../../lambda/core/store/rules/adopted-repos.ts';
import { SourceGoneError } from '../../lambda/core/store/rules/archive-store.ts';
import { startStore } from '../../local/store/start-store.ts';
import { MemoryArchiveStore } from '../support/memory/archive-store.ts';
import { adoptedArchivesTarget } from './adopted-target.ts';
import { archiveStoreContract } from './archive-store.contract.ts';
import { openS3Archives } from './s3-archives.ts';

archiveStoreContract('in memory', async () => {
  const partBytesMin = 64;
  const store = new MemoryArchiveStore({ limits: { partBytesMin }, pageSize: 3 });
  return { store, partBytesMin, stop: async () => {} };
});

archiveStoreContract('the local store', openLocalArchives);
archiveStoreContract('the local store, without the SDK', () => openLocalArchives({ withoutSdk: true }));

for (const names of nameLayouts)
  archiveStoreContract(
    `the local store, in which repos of ${names} are adopted`,
    async () => adoptedArchivesTarget(await openLocalArchives(), names),
    { many: 'they are those of the local store' },
  );

async function openLocalArchives(more: { withoutSdk?: boolean } = {}) {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'archive-contract-'));
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local-secret' };
  const running = await startStore({ port: 0, dataDir, bucket: 'objects', credentials });
  return openS3Archives({
    endpoint: running.url,
    bucket: 'objects',
    credentials,
    ...more,
    stop: async () => {
      await running.close();
      await rm(dataDir, { recursive: true });
    },
  });
}

describe('the store in memory', () => {
  const bytes = Buffer.from('0123456789');
  const putAll = async (store: MemoryArchiveStore, sizes: readonly number[]) => {
    const upload = await store.createUpload('whole');
    const parts = [];
    for (const [index, size] of sizes.entries())
      parts.push(await store.uploadPart(upload, { number: index + 1, bytes: Buffer.alloc(size, 'x') }));
    return await store.complete(upload, parts);
  };

  it('shares its objects with a listing', async () => {
    const store = new MemoryArchiveStore();
    await store.put('acme/app/a', bytes);
    const page = await store.objects.listPage({ prefix: 'acme/', readsEtags: true });
    const source = { key: page.keyAt(0), etag: page.etagAt(0) };
    expect(await store.head(source.key)).toEqual({ sizeBytes: 10, etag: source.etag });
    const reading = () => store.readInto(source, { startByte: 0, endByte: 4 }, new Uint8Array(4));
    await reading();
    store.objects.put(source.key, 10);
    await expect(reading()).rejects.toThrow(SourceGoneError);
    await store.put(source.key, bytes);
    await reading();
    await store.objects.delete([source.key]);
    await expect(reading()).rejects.toThrow(SourceGoneError);
  });

  it('fails before or after a call', async () => {
    const store = new MemoryArchiveStore();
    store.before = ({ number }) => {
      if (number === 1) throw new Error('not sent');
    };
    store.after = ({ name, number }) => {
      if (name === 'put' && number === 2) throw new Error('no answer');
    };
    await expect(store.put('a', bytes)).rejects.toThrow('not sent');
    await expect(store.put('b', bytes)).rejects.toThrow('no answer');
    expect([await store.get('a'), await store.get('b')]).toEqual([undefined, Uint8Array.from(bytes)]);
    expect(store.calls.map(({ name }) => name)).toEqual(['put', 'put', 'get', 'get']);
    expect(store.count('get')).toBe(2);
  });

  it('knows what is unfinished', async () => {
    const store = new MemoryArchiveStore();
    const upload = await store.createUpload('whole');
    await store.uploadPart(upload, { number: 7, bytes });
    expect(store.openUploads).toEqual([{ ...upload, parts: 1 }]);
    await store.abort(upload);
    expect(store.openUploads).toEqual([]);
  });

  it('wants parts of one size, if it is such a store', async () => {
    const equal = { limits: { partBytesMin: 4, wantsEqualParts: true } };
    await putAll(new MemoryArchiveStore(equal), [5, 5, 1]);
    await putAll(new MemoryArchiveStore(equal), [5, 5]);
    await expect(putAll(new MemoryArchiveStore(equal), [5, 6, 1])).rejects.toThrow(/another size/);
    await expect(putAll(new MemoryArchiveStore(equal), [5, 5, 6])).rejects.toThrow(/last part is larger/);
    await putAll(new MemoryArchiveStore({ limits: { partBytesMin: 4 } }), [5, 6, 7]);
  });

  it('takes no parts or objects beyond its limits', async () => {
    const limits = { partBytesMin: 4, partBytesMax: 8, partsMax: 3, objectBytesMax: 20 };
    await putAll(new MemoryArchiveStore({ limits }), [8, 8, 4]);
    for (const sizes of [[3, 4], [9], [0], [4, 4, 4, 4], [8, 8, 5], []])
      await expect(putAll(new MemoryArchiveStore({ limits }), sizes)).rejects.toThrow(/store refused/);
    const store = new MemoryArchiveStore({ limits: { partBytesMin: 10 } });
    await store.put('small', bytes);
    const source = { key: 'small', etag: (await store.head('small'))?.etag ?? '' };
    const range = { startByte: 0, endByte: 9 };
    const upload = await store.createUpload('whole');
    const copy = store.copyPart(upload, { number: 1, source, range, sizeBytes: 9 });
    await expect(copy).rejects.toThrow(/range of a small object/);
  });

  it('tells no CRC-32 if it is such a store', async () => {
    const store = new MemoryArchiveStore({ tellsCrc32: false });
    await store.put('a', bytes);
    const source = { key: 'a', etag: (await store.head('a'))?.etag ?? '' };
    const upload = await store.createUpload('scratch', { withCrc32: true });
    const copied = await store.copyPart(upload, { number: 1, source, sizeBytes: 10 });
    expect(copied).not.toHaveProperty('crc32');
  });
});
