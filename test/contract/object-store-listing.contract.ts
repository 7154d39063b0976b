import { expect, test } from 'vitest';
import { md5Hex } from '../support/body-digests.ts';
import {
  type Context,
  keysBelow,
  type ObjectStoreSkips,
  type ObjectStoreTarget,
  oddNames,
  sha256Hex,
  soon,
  testUnless,
} from './object-store-context.ts';

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

/** ObjectListing. */
export function listingTests(context: Context, skips: ObjectStoreSkips): void {
  test('a prefix without keys gives an empty page', async () => {
    const page = await context.target.listing.listPage({ prefix: context.prefix() });
    expect(page).toMatchObject({ keyCount: 0, totalBytes: 0, isTruncated: false });
    expect(page.nextContinuationToken).toBeUndefined();
    expect(() => page.keyAt(0)).toThrow(RangeError);
    expect(() => page.sizeAt(0)).toThrow(RangeError);
  });

  test('keys come in the order of their bytes, with their sizes, whatever characters they contain', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const keys = oddNames.map((odd) => prefix + context.names.of(odd));
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
    for (const key of keys) await target.store.delete([key], soon());
    expect(await keysBelow(target.listing, prefix)).toEqual([]);
  });

  testUnless(skips.controlCharacters, 'keys may contain control characters', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const keys = ['a\nb', 'a\rb', 'a\tb', 'a\u0001b', 'a\u007fb'].map(
      (odd) => prefix + context.names.of(odd),
    );
    for (const key of keys) await target.put(key, Buffer.from('x'));
    expect(await keysBelow(target.listing, prefix)).toEqual(inByteOrder(keys));
  });

  test('pages end at 1,000 keys, and only a page before the last is truncated', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const keys = Array.from({ length: 1000 }, (_, index) => `${prefix}${sha256Hex(Buffer.from(`${index}`))}`);
    await putMany(target, keys);
    const full = await target.listing.listPage({ prefix });
    expect(full).toMatchObject({ keyCount: 1000, totalBytes: 3000, isTruncated: false });
    const last = `${prefix}${'f'.repeat(64)}`;
    await target.put(last, Buffer.from('1'));
    const first = await target.listing.listPage({ prefix, maxKeys: 5000 });
    expect(first).toMatchObject({ keyCount: 1000, isTruncated: true });
    const continuationToken = first.nextContinuationToken ?? '';
    const rest = await target.listing.listPage({ prefix, continuationToken });
    expect(rest).toMatchObject({ keyCount: 1, totalBytes: 1, isTruncated: false });
    expect(rest.keyAt(0)).toBe(last);
    expect(await keysBelow(target.listing, prefix, 333)).toEqual(inByteOrder([...keys, last]));
  });

  test('a page begins after startAfter, whether that is a key or between keys', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const key = (text: string) => prefix + context.names.of(text);
    const letters = new Map(['a', 'b', 'c', 'd'].map((letter) => [key(letter), letter]));
    for (const [stored, letter] of letters) await target.put(stored, Buffer.from(letter));
    const after = async (startAfter: string, maxKeys?: number) => {
      const page = await target.listing.listPage({
        prefix,
        startAfter,
        ...(maxKeys !== undefined && { maxKeys }),
      });
      return Array.from({ length: page.keyCount }, (_, index) => letters.get(page.keyAt(index))).join('');
    };
    expect(await after(key('b'))).toBe('cd');
    expect(await after(key('b0'))).toBe('cd');
    expect(await after(key('b'), 1)).toBe('c');
    expect(await after(key('d'))).toBe('');
    expect(await after(prefix)).toBe('abcd');
    expect(await after('0')).toBe('abcd');
    expect(await after('\uffff')).toBe('');
    const page = await target.listing.listPage({ prefix, startAfter: key('a'), maxKeys: 1 });
    const next = await target.listing.listPage({
      prefix,
      startAfter: key('c'),
      continuationToken: page.nextContinuationToken ?? '',
    });
    expect(next.keyAt(0)).toBe(key('c'));
  });

  test('a prefix matches keys that begin with exactly its characters', async () => {
    const { target, names } = context;
    const prefix = context.prefix();
    const keys = ['app1', 'app2', 'apq', 'b'].map((text) => prefix + names.of(text));
    for (const key of keys) await target.put(key, Buffer.from('x'));
    expect(await keysBelow(target.listing, prefix + names.beginning('app'))).toEqual(keys.slice(0, 2));
    expect(await keysBelow(target.listing, prefix + names.beginning('ap'))).toEqual(keys.slice(0, 3));
    expect(await keysBelow(target.listing, prefix + names.beginning('ap'), 1)).toEqual(keys.slice(0, 3));
    expect(await keysBelow(target.listing, prefix + names.of('app2'))).toEqual([keys[1]]);
    expect(await keysBelow(target.listing, prefix + names.beginning('c'))).toEqual([]);
  });

  testUnless(skips.folders, 'a prefix matches folders that begin with exactly its characters', async () => {
    const { target } = context;
    const prefix = context.prefix();
    for (const key of ['app/1', 'app/2', 'app2/1', 'ap/1']) await target.put(prefix + key, Buffer.from(key));
    expect(await keysBelow(target.listing, `${prefix}app/`)).toEqual([`${prefix}app/1`, `${prefix}app/2`]);
    expect(await keysBelow(target.listing, `${prefix}app`)).toHaveLength(3);
    expect(await keysBelow(target.listing, `${prefix}app/1`)).toEqual([`${prefix}app/1`]);
  });

  testUnless(skips.folders, 'each folder is listed once, with the keys beside the folders', async () => {
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

  testUnless(
    skips.folders,
    'folders are paged like keys',
    async () => {
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
    },
    60_000,
  );

  test('keys are listed beside folders, if there are any', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const keys = ['a', 'b'].map((text) => prefix + context.names.of(text));
    for (const key of keys) await target.put(key, Buffer.from('one'));
    const page = await target.listing.listFolders({ prefix });
    expect(page.commonPrefixes).toEqual([]);
    expect(page.keys).toEqual(keys.map((key) => ({ key, sizeBytes: 3 })));
  });

  test('a page tells when its keys were stored if it is asked to', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const startedMs = Date.now();
    await target.put(prefix + context.names.of('a'), Buffer.from('a'));
    const storedAtMs = (await target.listing.listPage({ prefix, readsTimes: true })).lastModifiedMsAt(0) ?? 0;
    // Clocks differ, and S3 rounds down to a second.
    expect(Math.abs(storedAtMs - startedMs)).toBeLessThan(60_000);
    const page = await target.listing.listPage({ prefix });
    expect(page.lastModifiedMsAt(0)).toBeUndefined();
    expect(() => page.lastModifiedMsAt(1)).toThrow(RangeError);
  });

  test('a page tells the ETags of its keys if it is asked to', async () => {
    const { target } = context;
    const prefix = context.prefix();
    const bodies = ['one', 'two', 'one'];
    for (const [index, body] of bodies.entries())
      await target.put(prefix + context.names.of(`${index}`), Buffer.from(body));
    const page = await target.listing.listPage({ prefix, readsEtags: true });
    const etags = bodies.map((_, index) => page.etagAt(index));
    for (const etag of etags) expect(etag).toMatch(/^"[^"]+"$/);
    expect(etags[1]).not.toBe(etags[0]);
    if (target.sdk) expect(etags).toEqual(bodies.map((body) => `"${md5Hex(Buffer.from(body))}"`));
    expect((await target.listing.listPage({ prefix })).etagAt(0)).toBe('');
    expect(() => page.etagAt(3)).toThrow(RangeError);
  });

  test('an aborted listing rejects with the reason', async () => {
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await expect(context.target.listing.listPage({ prefix: context.prefix(), signal })).rejects.toBe(reason);
  });
}
