import { expect, test } from 'vitest';
import {
  type Context,
  keysBelow,
  type ObjectStoreSkips,
  oddNames,
  soon,
  testUnless,
} from './object-store-context.ts';

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

  test('an empty object takes the place of another, or none if it is to be new', async () => {
    const { store, listing } = context.target;
    const prefix = context.prefix();
    const key = prefix + context.names.of('a');
    expect(await store.putEmpty(key, { mark: 'm-1', onlyNew: true, ...soon() })).toBe('put');
    expect(await store.head(key)).toMatchObject({ sizeBytes: 0, mark: 'm-1' });
    expect(await store.putEmpty(key, { mark: 'm-2', onlyNew: true, ...soon() })).toBe('taken');
    await context.target.put(key, Buffer.from('bytes'));
    expect(await store.putEmpty(key, { mark: 'm-1', onlyNew: true, ...soon() })).toBe('taken');
    expect((await store.head(key))?.mark).toBeUndefined();
    expect(await store.head(key)).toMatchObject({ sizeBytes: 5 });
    expect(await store.putEmpty(key, { mark: 'm-1', onlyNew: false, ...soon() })).toBe('put');
    expect(await store.head(key)).toMatchObject({ sizeBytes: 0 });
    expect(await keysBelow(listing, prefix)).toEqual([key]);
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
    await store.delete([a], soon());
    await store.delete([a], soon());
    await store.delete([never], soon());
    expect(await store.head(a)).toBeUndefined();
    expect(await keysBelow(listing, prefix)).toEqual([b]);
  });

  test('delete removes many keys: with odd names, and more than one request takes', async () => {
    const { store, listing } = context.target;
    const prefix = context.prefix();
    const keys = [...oddNames, 'a', 'b'].map((text) => prefix + context.names.of(text));
    for (const key of keys) await context.target.put(key, Buffer.from(key));
    const [left = '', ...going] = keys;
    const others = Array.from({ length: 1100 }, (_, index) => prefix + context.names.of(`none-${index}`));
    expect(await store.delete([...going.slice(0, 3), ...others, ...going.slice(3)], soon())).toEqual(
      new Map(),
    );
    expect(await keysBelow(listing, prefix)).toEqual([left]);
    expect(await store.delete([], soon())).toEqual(new Map());
  });

  test('delete takes one request for a thousand keys', async () => {
    const { store, answers } = context.target;
    const prefix = context.prefix();
    const keys = Array.from({ length: 1000 }, (_, index) => prefix + context.names.of(`none-${index}`));
    const before = answers?.();
    expect(await store.delete(keys, soon())).toEqual(new Map());
    expect(answers?.()).toBe(before && before + 1);
  });

  testUnless(skips.controlCharacters, 'delete removes keys that XML cannot have', async () => {
    const { store, listing } = context.target;
    const prefix = context.prefix();
    const keys = ['\u0001', 'a\tb', 'a\nb', 'a\rb', 'plain'].map((text) => prefix + context.names.of(text));
    for (const key of keys) await context.target.put(key, Buffer.from('x'));
    expect(await store.delete(keys, soon())).toEqual(new Map());
    expect(await keysBelow(listing, prefix)).toEqual([]);
  });

  testUnless(skips.keyBesideFolder, 'a key may also be the folder of other keys', async () => {
    const { store, listing } = context.target;
    const prefix = context.prefix();
    for (const key of ['t/r', 't/r/o']) await context.target.put(prefix + key, Buffer.from(key));
    expect(await store.head(`${prefix}t/r`)).toMatchObject({ sizeBytes: 3 });
    expect(await store.head(`${prefix}t/r/o`)).toMatchObject({ sizeBytes: 5 });
    expect(await keysBelow(listing, prefix)).toEqual([`${prefix}t/r`, `${prefix}t/r/o`]);
    await store.delete([`${prefix}t/r`], soon());
    expect(await keysBelow(listing, prefix)).toEqual([`${prefix}t/r/o`]);
  });
}
