import { describe, expect, it } from 'vitest';
import { JoinedPage, type PagePart } from '../../../../../lambda/adapters/adopted/pages.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';

const pageOf = async (...sizes: readonly number[]) => {
  const memory = new MemoryObjectStore();
  for (const [index, size] of sizes.entries()) memory.put(`k${index}`, size, undefined, 1000 + index);
  return memory.listPage({ prefix: '', readsTimes: true });
};
const tokenAfter = (lastKey: string) => `after ${lastKey}`;
const keyOf = (storedKey: string) => `own/${storedKey}`;

describe('a page that is joined', () => {
  const joined = (isTruncated: boolean, ...parts: readonly PagePart[]) =>
    new JoinedPage(parts, { isTruncated, tokenAfter });

  it('has the bytes of the keys that it shows, and not of the others', async () => {
    const page = await pageOf(1, 20, 300);
    const bytesOf = (indexes: readonly number[] | undefined, keyCount: number) =>
      joined(false, { page, indexes, keyCount, keyOf }).totalBytes;
    expect([bytesOf(undefined, 3), bytesOf(undefined, 2), bytesOf([0, 2], 2), bytesOf([1, 2], 1)]).toEqual([
      321, 21, 301, 20,
    ]);
  });

  it('has the keys of its parts one after the other, and goes on after the last', async () => {
    const page = await pageOf(1, 20, 300);
    const some = { page, indexes: [0, 2], keyCount: 2, keyOf };
    const first = { page, indexes: undefined, keyCount: 1, keyOf: (storedKey: string) => `z/${storedKey}` };
    const made = joined(true, some, first);
    const read = [0, 1, 2].map((index) => [
      made.keyAt(index),
      made.sizeAt(index),
      made.lastModifiedMsAt(index),
    ]);
    expect(read).toEqual([
      ['own/k0', 1, 1000],
      ['own/k2', 300, 1002],
      ['z/k0', 1, 1000],
    ]);
    expect([made.keyCount, made.nextContinuationToken]).toEqual([3, 'after z/k0']);
    expect(joined(false, some).nextContinuationToken).toBeUndefined();
    expect(() => made.keyAt(3)).toThrow('The page has 3 keys, none at 3.');
  });

  it('of keys that a part does not have is a mistake', async () => {
    const page = await pageOf(1);
    expect(() => joined(false, { page, indexes: [0], keyCount: 2, keyOf })).toThrow(
      'The page has 1 keys, none at 1.',
    );
  });
});
