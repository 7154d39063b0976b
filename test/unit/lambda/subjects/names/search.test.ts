import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  headLine,
  type NamedObject,
  nameLine,
  pathBytesMax,
  readNames,
} from '../../../../../lambda/subjects/names/rules/names-file.ts';
import {
  type NameOrder,
  type NamePlace,
  nameOrders,
  searchNames,
} from '../../../../../lambda/subjects/names/rules/search.ts';
import { Random } from '../../../../support/random.ts';

const head = { version: 1, madeAtMs: 5 } as const;
const fileOf = (names: readonly NamedObject[]) => gzipSync(headLine(head) + names.map(nameLine).join(''));

function randomNames(seed: number, count: number): NamedObject[] {
  const random = new Random(seed);
  const below = (most: number) => random.int(0, most - 1);
  return Array.from({ length: count }, (_, index) => ({
    oid: index.toString(16).padStart(64, '0'),
    // Many are equal.
    sizeBytes: below(5),
    committedMs: below(4) === 0 ? null : 1000 * below(6),
    commit: below(2) === 0 ? null : 'c0ffee',
    ref: below(2) === 0 ? null : (['main', 'v1.0'][below(2)] ?? null),
    path: below(4) === 0 ? null : `Art/${'aä\t"\\\u2028\n'[below(7)]}/${below(3)}.PSD`,
  }));
}

/** The same by sorting all of them. */
function naive(
  names: readonly NamedObject[],
  { text, isInUse, order }: { text: string; isInUse: boolean | undefined; order: NameOrder },
) {
  const key = ({ sizeBytes, committedMs }: NamedObject) =>
    order === 'size'
      ? -sizeBytes
      : order === 'newest'
        ? -(committedMs ?? 0)
        : (committedMs ?? Number.MAX_SAFE_INTEGER);
  return names
    .filter(
      ({ path, oid }) => (path ?? '').toLowerCase().includes(text.toLowerCase()) || oid.startsWith(text),
    )
    .filter(({ ref }) => isInUse === undefined || isInUse === (ref !== null))
    .sort((a, b) => key(a) - key(b) || (a.oid < b.oid ? -1 : 1));
}

describe('a file of names', () => {
  it('tells what was written to it', async () => {
    const names = randomNames(1, 500);
    const read: NamedObject[] = [];
    expect(await readNames(fileOf(names), (line) => read.push(line.read()))).toEqual(head);
    expect(read).toEqual(names);
  });

  it('leaves out paths that are too long', async () => {
    const [name] = randomNames(2, 1);
    const paths = [
      'ä'.repeat(pathBytesMax / 2),
      `${'ä'.repeat(pathBytesMax / 2)}a`,
      '\u0001'.repeat(pathBytesMax),
    ];
    const read: (string | null)[] = [];
    await readNames(fileOf(paths.map((path) => ({ ...(name as NamedObject), path }))), (line) =>
      read.push(line.read().path),
    );
    expect(read).toEqual([paths[0], null, paths[2]]);
  });

  it.each(nameOrders)('is searched as a list that is sorted whole, by %s', async (order) => {
    for (const seed of [3, 4, 5]) {
      const names = randomNames(seed, 700);
      for (const text of ['', 'art/A', '1.psd', '"', '0000', 'none'])
        for (const isInUse of [undefined, true, false]) {
          const expected = naive(names, { text, isInUse, order });
          const found: NamedObject[] = [];
          let after: NamePlace | undefined;
          do {
            const page = await searchNames(fileOf(names), { text, isInUse, order, after, countMax: 90 });
            expect(page.sum.objectCount).toBe(expected.length);
            found.push(...page.names);
            after = page.next ?? undefined;
          } while (after);
          expect(found).toEqual(expected);
        }
    }
  });
});
