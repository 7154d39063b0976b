import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { allPages } from '../../../../lambda/core/rules/async.ts';
import { ScanListing } from '../../../../lambda/core/scan/list-objects.ts';
import { ArchiveClient } from '../../../../lambda/core/store/archive-client.ts';
import { BucketClient } from '../../../../lambda/core/store/bucket-client.ts';
import { createObjectStore, createTextFiles } from '../../../../lambda/core/store/object-store.ts';
import type { ArchiveStore } from '../../../../lambda/core/store/rules/archive-store.ts';
import type {
  ListPageRequest,
  ObjectListing,
  ObjectStore,
  SignUploadInput,
  UrlSigner,
} from '../../../../lambda/core/store/rules/store.ts';
import { createArchiveStore } from '../../../../lambda/core/store/s3-archives.ts';
import { createUrlSigner } from '../../../../lambda/core/store/signing.ts';
import { systemClock } from '../../../../lambda/frame/aws/clock-and-ids.ts';
import { type AskedRequest, LyingStore } from '../../../support/lying-store.ts';
import { sendRaw } from '../../../support/raw-request.ts';
import { bucket, credentials } from '../../../support/store-fixture.ts';
import { examineStore, setCredentials, unsetCredentials } from './examined.ts';

beforeAll(() => setCredentials());
afterAll(unsetCredentials);

/** What every request has, or what says nothing of what the store must know. */
const usual =
  /^(accept(-encoding)?|amz-sdk-.*|authorization|connection|content-(length|type)|date|expect|host|max-keys|transfer-encoding|user-agent|x-amz-(algorithm|content-sha256|credential|date|expires|signature|signedheaders|user-agent))$/;

/** Method, whether it's about a key, and the names of parameters and headers that a store must know: `GET key if-match range`. */
function kindOf({ method, key, query, headers, isPresigned }: AskedRequest): string {
  const names = [...query.keys(), ...Object.keys(headers)].map((name) => name.toLowerCase());
  const told = [...new Set(names)].filter((name) => !usual.test(name)).sort();
  return [method, key === '' ? 'bucket' : 'key', ...(isPresigned ? ['signed'] : []), ...told].join(' ');
}

type Options<M extends (...args: never) => unknown> = Required<NonNullable<Parameters<M>[1]>>;

/** Each method of each client of the service, with all that it can be asked for: the compiler tells what is missing. */
async function sendAll(url: string): Promise<void> {
  const place = {
    bucket,
    region: 'us-east-1',
    endpoint: url,
    forcePathStyle: true,
    credentials: async () => credentials,
  };
  const client = new BucketClient(place);
  const archiveClient = new ArchiveClient(place);
  const archives = createArchiveStore({ client: archiveClient });
  const objects = createObjectStore({ client, clock: systemClock });
  const listing = new ScanListing({ client });
  const files = createTextFiles({ client });
  const signer = createUrlSigner(place);
  const bytes = Buffer.alloc(5 * 1024 ** 2 + 1, 'p');
  const oid = createHash('sha256').update(bytes).digest('hex');
  const times = { signedAtMs: Date.now(), lifetimeMs: 60_000 };
  const put = async (input: Omit<SignUploadInput, keyof typeof times | 'sizeBytes'>) => {
    const signed = await signer.signUpload({ ...input, ...times, sizeBytes: bytes.length });
    const headers = { ...signed.header, 'content-length': String(bytes.length) };
    await sendRaw({ href: signed.href, method: 'PUT', headers, body: bytes });
  };
  const ofArchives = {
    put: () => archives.put('a', bytes),
    putSource: () => archives.putSource('a', bytes),
    get: () => archives.get('a'),
    readInto: async () => archives.readInto(await source(), { startByte: 0, endByte: 5 }, Buffer.alloc(5)),
    head: () => archives.head('a'),
    delete: () => archives.delete(['nothing']),
    list: () => allPages(archives.list('')),
    createUpload: async () => {
      const all: Options<ArchiveStore['createUpload']> = { withCrc32: true, storageClass: 'STANDARD' };
      const { withCrc32, storageClass } = all;
      for (const each of [{}, { withCrc32 }]) await archives.createUpload('u', each);
      // The local store has no classes.
      await archives.createUpload('u', { storageClass }).catch(() => undefined);
    },
    uploads: () => allPages(archives.uploads('')),
    parts: () => made('p'),
    uploadPart: () => made('p'),
    copyPart: () => made('p'),
    complete: async () => {
      const all: Options<(_: never, options: CompleteOptions) => void> = {
        ifAbsent: true,
        totalBytes: 2 * bytes.length,
      };
      for (const options of [{}, all]) {
        const { upload, parts } = await made(`c${Object.keys(options).length}`);
        await archives.complete(upload, parts, options);
      }
    },
    abort: async () => archives.abort((await made('p')).upload),
  } satisfies Record<keyof ArchiveStore, () => Promise<unknown>>;
  const page: Required<Omit<ListPageRequest, 'signal' | 'deadlineMs' | 'continuationToken' | 'inAnyOrder'>> =
    {
      prefix: '',
      startAfter: 'a',
      maxKeys: 1,
      readsTimes: true,
      readsEtags: true,
      readsClasses: true,
    };
  const others = {
    listPage: async () => {
      const { nextContinuationToken = '' } = await listing.listPage({ prefix: '', maxKeys: 1 });
      await listing.listPage({ prefix: '', continuationToken: nextContinuationToken });
      for (const some of [{ prefix: '' }, page]) await listing.listPage(some);
    },
    listFolders: () => listing.listFolders({ prefix: '' }),
    head: () => objects.head('a'),
    delete: async () => {
      const until = { deadlineMs: Date.now() + 60_000 };
      for (const keys of [['nothing'], ['nothing', 'more']]) await objects.delete(keys, until);
    },
    putEmpty: async () => {
      for (const onlyNew of [true, false])
        await objects.putEmpty('e', { mark: 'm', onlyNew, deadlineMs: Date.now() + 60_000 });
    },
    signUpload: async () => {
      for (const storageClass of [undefined, 'STANDARD']) await put({ key: 's', oid, storageClass });
      for (const of of [undefined, oid])
        await put({ key: 'n', oid: of, onlyNew: true, contentType: 'image/png' });
      const { uploadId } = await archives.createUpload('parts');
      await put({ key: 'parts', part: { uploadId, number: 1 } });
    },
    signDownload: async () => {
      for (const saveAs of [undefined, 'a.png']) {
        const { href } = await signer.signDownload({ key: 'a', ...times, saveAs });
        await sendRaw({ href, method: 'GET', headers: {} });
      }
    },
  } satisfies Record<
    // What only the store in this process has sends nothing.
    | keyof ObjectListing
    | Exclude<keyof ObjectStore, 'discardDamaged' | 'takeSpace' | 'leaveSpace'>
    | keyof UrlSigner,
    () => Promise<unknown>
  >;
  const ofFiles = {
    put: () => files.put('f', Buffer.from('text')),
    get: () => files.get('f'),
  } satisfies Record<keyof typeof files, () => Promise<unknown>>;
  for (const methods of [ofArchives, others, ofFiles])
    for (const send of Object.values(methods)) await send();
  client.destroy();
  archiveClient.destroy();

  async function source() {
    return { key: 'a', etag: (await archives.head('a'))?.etag ?? '' };
  }

  /** An upload of two parts, both ways of copying tried. */
  async function made(key: string) {
    const upload = await archives.createUpload(key);
    const copy = { number: 2, source: await source(), sizeBytes: bytes.length };
    await archives.copyPart(upload, { ...copy, range: { startByte: 0, endByte: bytes.length } });
    const parts = [
      await archives.uploadPart(upload, { number: 1, bytes }),
      await archives.copyPart(upload, copy),
    ];
    await allPages(archives.parts(upload));
    for await (const _ of archives.parts(upload, { after: 1 })) break;
    return { upload, parts };
  }
}

type CompleteOptions = NonNullable<Parameters<ArchiveStore['complete']>[2]>;

/** What doctor doesn't send, and why. */
const noClasses =
  'Only with the classes that an operator names. Stores have different ones, and some have none.';
const notSent: Readonly<Record<string, string>> = {
  'POST key uploads x-amz-storage-class': noClasses,
  'PUT key signed x-amz-checksum-sha256 x-amz-storage-class': noClasses,
};

it('doctor sends every kind of request that the service sends', async () => {
  const store = await LyingStore.start();
  await sendAll(store.url);
  await store.stop();
  const kinds = new Set(store.asked.map(kindOf));
  expect(kinds.size).toBeGreaterThan(20);
  const { store: examined } = await examineStore();
  const sent = new Set(examined.asked.map(kindOf));
  expect([...kinds].filter((kind) => !sent.has(kind)).sort()).toEqual(Object.keys(notSent).sort());
});
