import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ObjectListing } from '../../lambda/ports/object-listing.ts';
import type { ObjectStore, UrlSigner } from '../../lambda/ports/object-store.ts';
import { sendRaw } from './raw-request.ts';

/** One object store under test, through the adapters that the product uses. */
export interface ObjectStoreTarget {
  readonly store: ObjectStore;
  readonly listing: ObjectListing;
  /** Omitted for a store that takes no HTTP requests: the URL tests are skipped then. */
  readonly signer?: UrlSigner;
  /** Stores an object past the adapters. */
  put(key: string, body: Buffer): Promise<void>;
  stop(): Promise<void>;
}

/** What a store may lack, each with the reason that is shown beside the skipped test. */
export interface ObjectStoreSkips {
  readonly urls?: string;
  readonly keyBesideFolder?: string;
  readonly controlCharacters?: string;
  readonly unsignedAmzHeaders?: string;
}

interface Context {
  readonly target: ObjectStoreTarget;
  /** A prefix that no other test uses. */
  prefix(): string;
}

const sha256Hex = (body: Buffer) => createHash('sha256').update(body).digest('hex');

/** The promises of ObjectStore, ObjectListing and UrlSigner, as tests over one store. */
export function objectStoreContract(
  name: string,
  options: { open: () => Promise<ObjectStoreTarget>; skips?: ObjectStoreSkips },
): void {
  const skips = options.skips ?? {};
  describe(`object store contract: ${name}`, () => {
    let opened: ObjectStoreTarget | undefined;
    let prefixes = 0;
    const run = `run-${Date.now().toString(36)}`;
    const context: Context = {
      get target() {
        if (opened === undefined) throw new Error('The store is not open.');
        return opened;
      },
      prefix: () => {
        prefixes += 1;
        return `${run}/${prefixes}/`;
      },
    };
    beforeAll(async () => {
      opened = await options.open();
    });
    afterAll(async () => {
      await opened?.stop();
    });

    describe('objects', () => objectTests(context, skips));
    describe('listing', () => listingTests(context, skips));
    if (skips.urls === undefined) {
      describe('upload URLs', () => uploadTests(context, skips));
      describe('download URLs', () => downloadTests(context));
    } else {
      test.skip(`URLs: ${skips.urls}`);
    }
  });
}

/** A test, or a skipped one that says why. */
function testUnless(reason: string | undefined, name: string, run: () => Promise<void>): void {
  if (reason === undefined) test(name, run);
  else test.skip(`${name}: ${reason}`, run);
}

const soon = () => ({ deadlineMs: Date.now() + 10_000 });

function objectTests(context: Context, skips: ObjectStoreSkips): void {
  test('nothing lies at a key until something is put there', async () => {
    const { store } = context.target;
    const key = `${context.prefix()}a`;
    expect(await store.head(key)).toBeUndefined();
    await context.target.put(key, Buffer.from('hello'));
    expect(await store.head(key)).toMatchObject({ sizeBytes: 5 });
    await context.target.put(key, Buffer.from('longer than before'));
    expect(await store.head(key)).toMatchObject({ sizeBytes: 18 });
    await context.target.put(key, Buffer.alloc(0));
    expect(await store.head(key)).toMatchObject({ sizeBytes: 0 });
  });

  test('delete removes one key, and minds none that is absent', async () => {
    const { store, listing } = context.target;
    const prefix = context.prefix();
    await context.target.put(`${prefix}a`, Buffer.from('a'));
    await context.target.put(`${prefix}b`, Buffer.from('b'));
    await store.delete(`${prefix}a`, soon());
    await store.delete(`${prefix}a`, soon());
    await store.delete(`${prefix}never`, soon());
    expect(await store.head(`${prefix}a`)).toBeUndefined();
    expect(await keysBelow(listing, prefix)).toEqual([`${prefix}b`]);
  });

  testUnless(skips.keyBesideFolder, 'a key may lie beside keys below it', async () => {
    const { store, listing } = context.target;
    const prefix = context.prefix();
    for (const key of ['t/r', 't/r/o']) await context.target.put(prefix + key, Buffer.from(key));
    expect(await store.head(`${prefix}t/r`)).toMatchObject({ sizeBytes: 3 });
    expect(await store.head(`${prefix}t/r/o`)).toMatchObject({ sizeBytes: 5 });
    expect(await keysBelow(listing, prefix)).toEqual([`${prefix}t/r`, `${prefix}t/r/o`]);
    await store.delete(`${prefix}t/r`, soon());
    expect(await keysBelow(listing, prefix)).toEqual([`${prefix}t/r/o`]);
  });
}

/** Characters that some layer (XML, URLs, file names) could mistake. */
const oddNames = [
  'a b',
  'a+b',
  'a%20b',
  'a%2Fb',
  '100%',
  'ä',
  'a&b',
  'a<b>c',
  '"q"',
  "it's (!*)",
  '😀',
  '\ufb01',
  '~-_.',
  'a=b?c#d',
  ' lead and trail ',
  'Case',
  'case',
];

async function keysBelow(listing: ObjectListing, prefix: string, maxKeys?: number): Promise<string[]> {
  const keys: string[] = [];
  let continuationToken: string | undefined;
  do {
    const page = await listing.listPage({
      prefix,
      ...(continuationToken !== undefined && { continuationToken }),
      ...(maxKeys !== undefined && { maxKeys }),
    });
    for (let index = 0; index < page.keyCount; index += 1) keys.push(page.keyAt(index));
    expect(page.isTruncated).toBe(page.nextContinuationToken !== undefined);
    continuationToken = page.nextContinuationToken;
  } while (continuationToken !== undefined);
  return keys;
}

async function putMany(target: ObjectStoreTarget, keys: readonly string[]): Promise<void> {
  const waiting = [...keys];
  const worker = async () => {
    for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
      await target.put(key, Buffer.from(key.slice(-3)));
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}

const inByteOrder = (keys: readonly string[]) =>
  [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

function listingTests(context: Context, skips: ObjectStoreSkips): void {
  test('an empty prefix of nobody gives an empty page', async () => {
    const page = await context.target.listing.listPage({ prefix: context.prefix() });
    expect(page).toMatchObject({ keyCount: 0, totalBytes: 0, isTruncated: false });
    expect(page.nextContinuationToken).toBeUndefined();
    expect(() => page.keyAt(0)).toThrow(RangeError);
    expect(() => page.sizeAt(0)).toThrow(RangeError);
  });

  test('keys come in the order of their bytes, with their sizes, whatever they hold', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const keys = oddNames.map((odd) => prefix + odd);
    for (const [index, key] of keys.entries()) await target.put(key, Buffer.alloc(index));
    const page = await target.listing.listPage({ prefix });
    const listed = Array.from({ length: page.keyCount }, (_, index) => page.keyAt(index));
    expect(listed).toEqual(inByteOrder(keys));
    for (const [index, key] of listed.entries()) expect(page.sizeAt(index)).toBe(keys.indexOf(key));
    expect(page.totalBytes).toBe((keys.length * (keys.length - 1)) / 2);
    for (const [index, key] of keys.entries()) {
      expect(await target.store.head(key)).toMatchObject({ sizeBytes: index });
      expect(await keysBelow(target.listing, key)).toContain(key);
    }
    expect(await keysBelow(target.listing, prefix, 1)).toEqual(inByteOrder(keys));
    for (const key of keys) await target.store.delete(key, soon());
    expect(await keysBelow(target.listing, prefix)).toEqual([]);
  });

  testUnless(skips.controlCharacters, 'keys may hold control characters', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const keys = ['a\nb', 'a\rb', 'a\tb', 'a\u0001b', 'a\u007fb'].map((odd) => prefix + odd);
    for (const key of keys) await target.put(key, Buffer.from('x'));
    expect(await keysBelow(target.listing, prefix)).toEqual(inByteOrder(keys));
  });

  test('pages end at 1,000 keys, and only a page that keys follow is truncated', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const keys = Array.from({ length: 1000 }, (_, index) => `${prefix}${sha256Hex(Buffer.from(`${index}`))}`);
    await putMany(target, keys);
    const full = await target.listing.listPage({ prefix });
    expect(full).toMatchObject({ keyCount: 1000, totalBytes: 3000, isTruncated: false });
    const last = `${prefix}g`;
    await target.put(last, Buffer.from('1'));
    const first = await target.listing.listPage({ prefix, maxKeys: 5000 });
    expect(first).toMatchObject({ keyCount: 1000, isTruncated: true });
    const continuationToken = first.nextContinuationToken ?? '';
    const rest = await target.listing.listPage({ prefix, continuationToken });
    expect(rest).toMatchObject({ keyCount: 1, totalBytes: 1, isTruncated: false });
    expect(rest.keyAt(0)).toBe(last);
    expect(await keysBelow(target.listing, prefix, 333)).toEqual(inByteOrder([...keys, last]));
  }, 60_000);

  test('startAfter, whether a key or between keys, is itself left out', async () => {
    const { target } = context;
    const prefix = context.prefix();
    for (const letter of ['a', 'b', 'c', 'd']) await target.put(prefix + letter, Buffer.from(letter));
    const after = async (startAfter: string, maxKeys?: number) => {
      const page = await target.listing.listPage({
        prefix,
        startAfter,
        ...(maxKeys !== undefined && { maxKeys }),
      });
      return Array.from({ length: page.keyCount }, (_, index) => page.keyAt(index).slice(prefix.length)).join(
        '',
      );
    };
    expect(await after(`${prefix}b`)).toBe('cd');
    expect(await after(`${prefix}b0`)).toBe('cd');
    expect(await after(`${prefix}b`, 1)).toBe('c');
    expect(await after(`${prefix}d`)).toBe('');
    expect(await after(prefix)).toBe('abcd');
    expect(await after('0')).toBe('abcd');
    expect(await after('\uffff')).toBe('');
    const page = await target.listing.listPage({ prefix, startAfter: `${prefix}a`, maxKeys: 1 });
    const next = await target.listing.listPage({
      prefix,
      startAfter: `${prefix}c`,
      continuationToken: page.nextContinuationToken ?? '',
    });
    expect(next.keyAt(0)).toBe(`${prefix}c`);
  });

  test('a prefix ends where it ends', async () => {
    const { target } = context;
    const prefix = context.prefix();
    for (const key of ['app/1', 'app/2', 'app2/1', 'ap/1']) await target.put(prefix + key, Buffer.from(key));
    expect(await keysBelow(target.listing, `${prefix}app/`)).toEqual([`${prefix}app/1`, `${prefix}app/2`]);
    expect(await keysBelow(target.listing, `${prefix}app`)).toHaveLength(3);
    expect(await keysBelow(target.listing, `${prefix}app/1`)).toEqual([`${prefix}app/1`]);
  });

  test('folders are each named once, with the keys that lie beside them', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const keys = ['one/1', 'one/2', 'one/deep/3', 'two ä+/1', 'two-1', 'zz'];
    for (const key of keys) await target.put(prefix + key, Buffer.from(key));
    const page = await target.listing.listFolders({ prefix });
    expect(page.commonPrefixes).toEqual([`${prefix}one/`, `${prefix}two ä+/`]);
    expect(page.keys).toEqual([
      { key: `${prefix}two-1`, sizeBytes: 5 },
      { key: `${prefix}zz`, sizeBytes: 2 },
    ]);
    expect(page.nextContinuationToken).toBeUndefined();
    expect(await target.listing.listFolders({ prefix: `${prefix}none/` })).toEqual({
      commonPrefixes: [],
      keys: [],
      nextContinuationToken: undefined,
    });
  });

  test('folders are paged like keys', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const folders = Array.from(
      { length: 1001 },
      (_, index) => `${prefix}f${String(index).padStart(4, '0')}/`,
    );
    await putMany(
      target,
      folders.flatMap((folder, index) =>
        index % 500 === 499 ? [`${folder}1`, `${folder}2`] : [`${folder}1`],
      ),
    );
    const first = await target.listing.listFolders({ prefix });
    expect(first.commonPrefixes).toEqual(folders.slice(0, 1000));
    const rest = await target.listing.listFolders({
      prefix,
      continuationToken: first.nextContinuationToken ?? '',
    });
    expect(rest).toEqual({
      commonPrefixes: folders.slice(1000),
      keys: [],
      nextContinuationToken: undefined,
    });
  }, 60_000);

  test('an abort ends a listing with its reason', async () => {
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await expect(context.target.listing.listPage({ prefix: context.prefix(), signal })).rejects.toBe(reason);
  });
}

const lifetimeMs = 600_000;

function signerOf({ target }: Context): UrlSigner {
  if (target.signer === undefined) throw new Error('This store has no signer: skip the URL tests by name.');
  return target.signer;
}

/** Signs an upload of `body`, or of what `claims` says instead. */
async function signUpload(
  context: Context,
  body: Buffer,
  claims: { key?: string; signedAtMs?: number } = {},
) {
  const key = claims.key ?? `${context.prefix()}${sha256Hex(body)}`;
  const signed = await signerOf(context).signUpload({
    key,
    oid: sha256Hex(body),
    sizeBytes: body.length,
    signedAtMs: claims.signedAtMs ?? Date.now(),
    lifetimeMs,
  });
  return { key, href: signed.href, header: signed.header };
}

const lengthOf = (body: Buffer) => ({ 'content-length': String(body.length) });

function uploadTests(context: Context, skips: ObjectStoreSkips): void {
  const body = Buffer.from('the bytes that were promised');
  const other = Buffer.from('THE BYTES THAT WERE PROMISED');

  const refused = async (
    key: string,
    sent: { href: string; headers: Record<string, string>; body?: Buffer; method?: string },
  ) => {
    const answer = await sendRaw({ method: 'PUT', body, ...sent });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(await context.target.store.head(key)).toBeUndefined();
    expect(await keysBelow(context.target.listing, key)).toEqual([]);
  };

  test.each([
    { name: 'some bytes', bytes: body },
    { name: 'no bytes', bytes: Buffer.alloc(0) },
    { name: '3 MB', bytes: Buffer.alloc(3_000_000, 'x') },
  ])('take what was promised: $name', async ({ bytes }) => {
    const { key, href, header } = await signUpload(context, bytes);
    const headers = { ...header, ...lengthOf(bytes), 'content-type': 'application/octet-stream' };
    expect((await sendRaw({ method: 'PUT', href, headers, body: bytes })).status).toBe(200);
    const stored = { sizeBytes: bytes.length, sha256: sha256Hex(bytes) };
    expect(await context.target.store.head(key)).toEqual(stored);
    // The same upload again, as a client that lost the answer does.
    expect((await sendRaw({ method: 'PUT', href, headers, body: bytes })).status).toBe(200);
    expect(await context.target.store.head(key)).toEqual(stored);
  });

  test.each([
    { name: 'more bytes', bytes: Buffer.alloc(1_000_000, 'x') },
    { name: 'fewer bytes', bytes: body.subarray(1) },
    { name: 'none', bytes: Buffer.alloc(0) },
    { name: 'other bytes of the right number', bytes: other },
  ])('refuse $name', async ({ bytes }) => {
    const { key, href, header } = await signUpload(context, body);
    await refused(key, { href, headers: { ...header, ...lengthOf(bytes) }, body: bytes });
  });

  test('refuse a body without the checksum, or with that of other bytes', async () => {
    const { key, href } = await signUpload(context, body);
    await refused(key, { href, headers: lengthOf(body) });
    const checksum = createHash('sha256').update(other).digest('base64');
    await refused(key, {
      href,
      headers: { ...lengthOf(body), 'x-amz-checksum-sha256': checksum },
      body: other,
    });
  });

  test('refuse a body without a length', async () => {
    const { key, href, header } = await signUpload(context, body);
    await refused(key, { href, headers: { ...header, 'transfer-encoding': 'chunked' } });
  });

  test('refuse another key', async () => {
    const { href, header } = await signUpload(context, body);
    const key = `${context.prefix()}${sha256Hex(body)}`;
    const moved = new URL(href);
    moved.pathname = `${moved.pathname.split('/').slice(0, 2).join('/')}/${key}`;
    await refused(key, { href: moved.href, headers: { ...header, ...lengthOf(body) } });
  });

  test('refuse an expired URL', async () => {
    const { key, href, header } = await signUpload(context, body, {
      signedAtMs: Date.now() - lifetimeMs - 2_000,
    });
    await refused(key, { href, headers: { ...header, ...lengthOf(body) } });
  });

  test.each([
    { parameter: 'X-Amz-Expires', value: '604800' },
    { parameter: 'X-Amz-SignedHeaders', value: 'host' },
    { parameter: 'X-Amz-Signature', value: '0'.repeat(64) },
    { parameter: 'X-Amz-Credential', value: 'nobody/20261121/us-east-1/s3/aws4_request' },
    { parameter: 'X-Amz-Signature', value: undefined },
    { parameter: 'X-Amz-Date', value: '20991231T000000Z' },
    { parameter: 'extra', value: '1' },
  ])('refuse a query that was changed: $parameter = $value', async ({ parameter, value }) => {
    const { key, href, header } = await signUpload(context, body);
    const changed = new URL(href);
    if (value === undefined) changed.searchParams.delete(parameter);
    else changed.searchParams.set(parameter, value);
    await refused(key, { href: changed.href, headers: { ...header, ...lengthOf(body) } });
  });

  testUnless(skips.unsignedAmzHeaders, 'refuse headers for the store that were not signed', async () => {
    const { key, href, header } = await signUpload(context, body);
    const headers = { ...header, ...lengthOf(body), 'x-amz-meta-note': 'mine' };
    await refused(key, { href, headers });
  });

  test('are good for nothing else', async () => {
    const { key, href, header } = await signUpload(context, body);
    expect(
      (await sendRaw({ method: 'PUT', href, headers: { ...header, ...lengthOf(body) }, body })).status,
    ).toBe(200);
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      const answer = await sendRaw({ method, href, headers: { ...header, ...lengthOf(Buffer.alloc(0)) } });
      expect(answer.status).toBe(403);
    }
    expect(await context.target.store.head(key)).toMatchObject({ sizeBytes: body.length });
  });
}

function downloadTests(context: Context): void {
  const body = Buffer.from('0123456789');
  const signedGet = async (key: string, signedAtMs = Date.now()) =>
    (await signerOf(context).signDownload({ key, signedAtMs, lifetimeMs })).href;
  const stored = async (name = 'digits') => {
    const key = `${context.prefix()}${name}`;
    await context.target.put(key, body);
    return key;
  };

  test('give the bytes', async () => {
    for (const name of ['digits', ...oddNames]) {
      const answer = await sendRaw({ method: 'GET', href: await signedGet(await stored(name)) });
      expect({ name, status: answer.status, body: answer.body.toString() }).toEqual({
        name,
        status: 200,
        body: body.toString(),
      });
      expect(answer.headers['content-length']).toBe('10');
    }
  });

  test.each([
    { range: 'bytes=4-', status: 206, expected: '456789', contentRange: 'bytes 4-9/10' },
    { range: 'bytes=2-3', status: 206, expected: '23', contentRange: 'bytes 2-3/10' },
    { range: 'bytes=-3', status: 206, expected: '789', contentRange: 'bytes 7-9/10' },
    { range: 'bytes=8-99', status: 206, expected: '89', contentRange: 'bytes 8-9/10' },
  ])('give a part: $range', async ({ range, status, expected, contentRange }) => {
    const href = await signedGet(await stored());
    const answer = await sendRaw({ method: 'GET', href, headers: { range } });
    expect(answer.status).toBe(status);
    expect(answer.body.toString()).toBe(expected);
    expect(answer.headers['content-range']).toBe(contentRange);
  });

  test('refuse a part that is not there', async () => {
    const href = await signedGet(await stored());
    expect((await sendRaw({ method: 'GET', href, headers: { range: 'bytes=10-' } })).status).toBe(416);
  });

  test('answer 404 for an absent key', async () => {
    const href = await signedGet(`${context.prefix()}none`);
    expect((await sendRaw({ method: 'GET', href })).status).toBe(404);
  });

  test('are good for one key, one method and their time', async () => {
    const key = await stored();
    const href = await signedGet(key);
    const other = await signedGet(await stored());
    const moved = new URL(href);
    moved.pathname = new URL(other).pathname;
    const expired = await signedGet(key, Date.now() - lifetimeMs - 2_000);
    const unsigned = href.slice(0, href.indexOf('?'));
    for (const bad of [moved.href, expired, unsigned]) {
      const answer = await sendRaw({ method: 'GET', href: bad });
      expect(answer.status).toBe(403);
      expect(answer.body.includes(body)).toBe(false);
    }
    for (const method of ['HEAD', 'PUT', 'DELETE']) {
      const headers = method === 'PUT' ? lengthOf(body) : {};
      expect((await sendRaw({ method, href, headers, ...(method === 'PUT' && { body }) })).status).toBe(403);
    }
    expect(await context.target.store.head(key)).toMatchObject({ sizeBytes: 10 });
  });
}
