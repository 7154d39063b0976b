import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareKeys } from '../../../../lambda/core/rules/names.ts';
import { KeyIndex } from '../../../../local/store/listing.ts';

const odd = fc.string({
  unit: fc.constantFrom('a', 'b', '/', '\uffff', '\ue000', '😀', 'ä', ' '),
  maxLength: 6,
});

function pages(index: KeyIndex<number>, request: Parameters<KeyIndex<number>['page']>[0]) {
  const keys: string[] = [];
  const folders: string[] = [];
  let sizesMax = 0;
  let continuationToken: string | undefined;
  do {
    const page = index.page({ ...request, continuationToken });
    keys.push(...page.entries.map(({ key }) => key));
    folders.push(...page.commonPrefixes);
    sizesMax = Math.max(sizesMax, page.entries.length + page.commonPrefixes.length);
    continuationToken = page.nextContinuationToken;
  } while (continuationToken !== undefined);
  return { keys, folders, sizesMax };
}

describe('KeyIndex', () => {
  test('pages have every key of a prefix once, in order, for any page size', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(odd),
        odd,
        odd,
        fc.integer({ min: 1, max: 4 }),
        (all, prefix, startAfter, maxKeys) => {
          const index = new KeyIndex(all.map((key) => [key, 1] as const));
          const expected = all
            .filter((key) => key.startsWith(prefix) && compareKeys(key, startAfter) > 0)
            .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
          const found = pages(index, { prefix, startAfter, maxKeys });
          expect(found.keys).toEqual(expected);
          expect(found.sizesMax).toBeLessThanOrEqual(maxKeys);
        },
      ),
    );
  });

  test('with a delimiter, pages have each folder once, and the keys beside them', () => {
    fc.assert(
      fc.property(fc.uniqueArray(odd), odd, fc.integer({ min: 1, max: 4 }), (all, prefix, maxKeys) => {
        const index = new KeyIndex(all.map((key) => [key, 1] as const));
        const below = all.filter((key) => key.startsWith(prefix)).sort(compareKeys);
        const rest = (key: string) => key.slice(prefix.length);
        const found = pages(index, { prefix, maxKeys, delimiter: '/' });
        expect(found.keys).toEqual(below.filter((key) => !rest(key).includes('/')));
        expect(found.folders).toEqual([
          ...new Set(
            below
              .filter((key) => rest(key).includes('/'))
              .map((key) => `${prefix}${rest(key).slice(0, rest(key).indexOf('/') + 1)}`),
          ),
        ]);
      }),
    );
  });

  test('sets and deletes keep the order', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(odd, fc.boolean())), (steps) => {
        const index = new KeyIndex<number>();
        const model = new Map<string, number>();
        for (const [at, [key, isSet]] of steps.entries()) {
          if (isSet) {
            index.set(key, at);
            model.set(key, at);
          } else {
            expect(index.delete(key)).toBe(model.delete(key));
          }
        }
        expect(index.size).toBe(model.size);
        expect(index.page({ prefix: '' }).entries).toEqual(
          [...model].sort(([a], [b]) => compareKeys(a, b)).map(([key, value]) => ({ key, value })),
        );
      }),
    );
  });

  test('a full page that ends the listing is not truncated, and max-keys is capped at 1,000', () => {
    const index = new KeyIndex(Array.from({ length: 1000 }, (_, at) => [`k${at}`, at] as const));
    expect(index.page({ prefix: '' }).nextContinuationToken).toBeUndefined();
    index.set('last', 1);
    expect(index.page({ prefix: '', maxKeys: 5000 }).entries).toHaveLength(1000);
    expect(index.page({ prefix: '', maxKeys: 5000 }).nextContinuationToken).toBeDefined();
    expect(index.page({ prefix: '', maxKeys: 0 })).toMatchObject({
      entries: [],
      nextContinuationToken: undefined,
    });
  });

  test('a token of another index is refused', () => {
    const index = new KeyIndex<number>();
    for (const continuationToken of ['', 'x', '!!', Buffer.from('zkey').toString('base64url')]) {
      expect(() => index.page({ prefix: '', continuationToken })).toThrow(
        expect.objectContaining({ code: 'InvalidArgument' }),
      );
    }
  });
});
