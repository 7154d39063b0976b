import { expect, test } from 'vitest';
import { type Context, keysBelow, type ObjectStoreSkips, soon, testUnless } from './object-store-context.ts';

/** ObjectStore. */
export function objectTests(context: Context, skips: ObjectStoreSkips): void {
  test('a key has no object until one is put there', async () => {
    const { store } = context.target;
    const key = context.prefix() + context.names.of('a');
    expect(await store.head(key)).toBeUndefined();
    await context.target.put(key, Buffer.from('hello'));
    expect(await store.head(key)).toMatchObject({ sizeBytes: 5 });
    await context.target.put(key, Buffer.from('longer than before'));
    expect(await store.head(key)).toMatchObject({ sizeBytes: 18 });
    await context.target.put(key, Buffer.alloc(0));
    expect(await store.head(key)).toMatchObject({ sizeBytes: 0 });
  });

  test('delete removes one key, and a missing key is no error', async () => {
    const { store, listing } = context.target;
    const prefix = context.prefix();
    const [a, b, never] = ['a', 'b', 'never'].map((text) => prefix + context.names.of(text)) as [
      string,
      string,
      string,
    ];
    await context.target.put(a, Buffer.from('a'));
    await context.target.put(b, Buffer.from('b'));
    await store.delete(a, soon());
    await store.delete(a, soon());
    await store.delete(never, soon());
    expect(await store.head(a)).toBeUndefined();
    expect(await keysBelow(listing, prefix)).toEqual([b]);
  });

  testUnless(skips.keyBesideFolder, 'a key may also be the folder of other keys', async () => {
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
