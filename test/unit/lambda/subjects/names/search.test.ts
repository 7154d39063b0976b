import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  headLine,
  type NamedObject,
  nameLine,
  pathBytesMax,
  readNames,
  UnreadableNamesError,
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

  it('leaves out times that are no dates', async () => {
    const [name] = randomNames(2, 1);
    const times = [-1000, 0, 253_402_300_799_000, 253_402_300_800_000];
    const read: (number | null)[] = [];
    const file = fileOf(times.map((committedMs) => ({ ...(name as NamedObject), committedMs })));
    await readNames(file, (line) => read.push(line.committedMs));
    expect(read).toEqual([null, times[1], times[2], null]);
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

  const oid = 'a'.repeat(64);
  it.each([
    ['cut after the oid', oid],
    ['without a path', `${oid}\t1\t2\tc\tref`],
    ['whose fields go on in the next line', `${oid}\t1\t2\n${oid}\t1\t2\tc\tref\tpath`],
    ['of a short oid', `${oid.slice(1)}\t1\t2\tc\tref\tpath`],
    ['of no oid', `${'A'.repeat(64)}\t1\t2\tc\tref\tpath`],
    ['of a size that is none', `${oid}\t1x\t2\tc\tref\tpath`],
    ['of a negative size', `${oid}\t-1\t2\tc\tref\tpath`],
    ['of a size beyond all numbers', `${oid}\t9007199254740992\t2\tc\tref\tpath`],
    ['of a time that is none', `${oid}\t1\tx\tc\tref\tpath`],
    ['of a time without a date', `${oid}\t1\t253402300800\tc\tref\tpath`],
  ])('is unreadable with a line %s', async (_, line) => {
    const search = { text: '', isInUse: undefined, order: 'newest', after: undefined, countMax: 9 } as const;
    await expect(searchNames(gzipSync(`${headLine(head)}${line}\n`), search)).rejects.toThrow(
      UnreadableNamesError,
    );
  });
});
