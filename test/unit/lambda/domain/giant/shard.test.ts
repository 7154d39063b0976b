import { describe, expect, it } from 'vitest';
import {
  childrenOf,
  indexOfName,
  rangeOf,
  type Shard,
  scannedShard,
  shardsInForce,
  unscannedShard,
  withDoubt,
  withoutUnclaimed,
} from '../../../../../lambda/domain/giant/shard.ts';
import { compareKeys } from '../../../../../lambda/rules/names.ts';
import { shardRecord } from '../../../../support/shard-record.ts';

const shard = shardRecord;
const prefixes = (shards: readonly Shard[]) => shards.map(({ prefix }) => prefix);

describe('the ranges of shards', () => {
  const isIn = (prefix: string, name: string) => {
    const { after, last } = rangeOf(prefix);
    return (
      (after === null || compareKeys(name, after) > 0) && (last === null || compareKeys(name, last) <= 0)
    );
  };
  const names = [
    '',
    '!',
    '0',
    '00',
    '0f',
    '0z',
    '3',
    '3f00',
    '3g',
    '9',
    '9:',
    'A',
    'a',
    'ff',
    'fz',
    'z',
    'ü',
    '文',
    '0'.repeat(64),
    'f'.repeat(64),
  ];

  it.each([0, 1, 2])('of %i digits have every name exactly once', (digits) => {
    for (const name of names) {
      let prefixes = [''];
      for (let digit = 0; digit < digits; digit += 1) prefixes = prefixes.flatMap(childrenOf);
      const owners = prefixes.filter((prefix) => isIn(prefix, name));
      expect(owners, name).toHaveLength(1);
      expect(prefixes[indexOfName(prefixes, name)], name).toBe(owners[0]);
    }
  });

  it('of the parts of a shard have exactly its names', () => {
    for (const parent of ['', '0', '3', '9', 'f', '0f', 'ff'])
      for (const name of names) {
        const parts = childrenOf(parent).filter((prefix) => isIn(prefix, name));
        expect(parts.length, `${name} in ${parent}`).toBe(isIn(parent, name) ? 1 : 0);
      }
  });

  it('begin with sixteen, in order', () => {
    expect(childrenOf('').join('')).toBe('0123456789abcdef');
    expect(childrenOf('f').slice(14)).toEqual(['fe', 'ff']);
  });

  it('have the oids that begin with their digits', () => {
    expect(isIn('3f', `3f${'0'.repeat(62)}`)).toBe(true);
    expect(isIn('3f', `3f${'f'.repeat(62)}`)).toBe(true);
    expect(isIn('3f', `40${'0'.repeat(62)}`)).toBe(false);
  });
});

describe('shards in force', () => {
  const inForce = (items: readonly Shard[], sinceEpoch = 0) =>
    prefixes(shardsInForce(items, { sinceEpoch }).inForce);

  it('are those without a shard above them, in order', () => {
    const items = [shard('1'), shard('00'), shard('0'), shard('01')];
    expect(inForce(items)).toEqual(['0', '1']);
    const split = items.filter(({ prefix }) => prefix !== '0');
    expect(inForce(split)).toEqual(['00', '01', '1']);
  });

  it('are not those that are left from when the repo was a giant before', () => {
    const items = [shard('0', { epoch: 4 }), shard('00'), shard('1')];
    expect(inForce(items, 5)).toEqual(['00', '1']);
  });

  describe('below which there are parts', () => {
    const partsOf = (prefix: string, epoch: number | null) =>
      childrenOf(prefix).map((part) =>
        shard(part, { epoch: 9, partOf: epoch === null ? null : { prefix, epoch } }),
      );
    const above = (epoch: number) => shard('3', { epoch });
    const found = (items: readonly Shard[]) => {
      const { replaced } = shardsInForce(items, { sinceEpoch: 0 });
      return { inForce: inForce(items), replaced: prefixes(replaced) };
    };

    it('are replaced once all are there, of what they are now or were later', () => {
      for (const epoch of [4, 5])
        expect(found([above(epoch), ...partsOf('3', 5)])).toEqual({
          inForce: childrenOf('3'),
          replaced: ['3'],
        });
    });

    it('are replaced by the parts of their parts, too', () => {
      const items = [above(5), ...partsOf('3', 5).slice(1), ...partsOf('30', 9)];
      const parts = [...childrenOf('30'), ...childrenOf('3').slice(1)];
      expect(found(items)).toEqual({ inForce: parts, replaced: ['3'] });
      // The write that created a part landed once more, too.
      const again = shard('30', { epoch: 9, partOf: { prefix: '3', epoch: 5 } });
      expect(found([...items, again])).toEqual({ inForce: parts, replaced: ['3', '30'] });
    });

    it('are in force while one is missing', () => {
      for (const missing of [0, 7, 15])
        expect(found([above(5), ...partsOf('3', 5).toSpliced(missing, 1)])).toEqual({
          inForce: ['3'],
          replaced: [],
        });
      const deeper = [...partsOf('3', 5).slice(1), ...partsOf('30', 9).slice(1)];
      expect(found([above(5), ...deeper])).toEqual({ inForce: ['3'], replaced: [] });
    });

    it('are in force if they have changed since the split, or the parts do not say of what they are', () => {
      expect(found([above(6), ...partsOf('3', 5)])).toEqual({ inForce: ['3'], replaced: [] });
      expect(found([above(5), ...partsOf('3', null)])).toEqual({ inForce: ['3'], replaced: [] });
      const mixed = [
        ...partsOf('3', 6).slice(1),
        shard('30', { epoch: 9, partOf: { prefix: '3', epoch: 5 } }),
      ];
      expect(found([above(6), ...mixed])).toEqual({ inForce: ['3'], replaced: [] });
    });

    it('are replaced by smaller parts of the shard above them, unless these are older', () => {
      const partOf = { prefix: '3', epoch: 5 };
      const smaller = childrenOf('30').map((part) => shard(part, { epoch: 9, partOf }));
      const parts = [...smaller, ...partsOf('3', 5).slice(1)];
      const left = (epoch: number) => shard('30', { epoch, partOf });
      expect(found([...parts, left(8)])).toEqual({ inForce: prefixes(parts), replaced: ['30'] });
      expect(found([above(5), ...parts]).replaced).toEqual(['3']);
      for (const epoch of [9, 10])
        expect(found([...parts, left(epoch)])).toEqual({ inForce: childrenOf('3'), replaced: [] });
    });

    it('have four digits at most', () => {
      const items = [shard('3333'), ...partsOf('3333', 5)];
      expect(found(items)).toEqual({ inForce: ['3333'], replaced: [] });
    });
  });
});

it('a scanned shard has nothing of before its scan', () => {
  const scan = {
    storedBytes: 9,
    objectCount: 2,
    countedAtMs: 2000,
    scanEndedMs: 2100,
    seen: new Set(['a', 'b']),
  };
  const before = { prefix: '7', epoch: 6, partOf: { prefix: '', epoch: 4 }, appliedRuns: new Set(['r']) };
  expect(scannedShard(scan, before)).toEqual(
    shard('7', {
      epoch: 6,
      partOf: { prefix: '', epoch: 4 },
      storedBytes: 9,
      objectCount: 2,
      countedAtMs: 2000,
      scanEndedMs: 2100,
      counted: new Map([
        ['a', 2000],
        ['b', 2000],
      ]),
      appliedRuns: new Set(['r']),
    }),
  );
});

it('doubts add up', () => {
  const once = withDoubt(shard('7'), { fromMs: 5, untilMs: 9, doubtBytes: 10 });
  expect(once.stale).toEqual({ fromMs: 5, untilMs: 9, doubtBytes: 10 });
  expect(withDoubt(once, { fromMs: 7, untilMs: 12, doubtBytes: 1 }).stale).toEqual({
    fromMs: 5,
    untilMs: 12,
    doubtBytes: 11,
  });
});

describe('names that nobody claims', () => {
  const countedAtMs = 1e9;
  const counted = (count: number, atMs: number) =>
    new Map(Array.from({ length: count }, (_, index) => [`${index}`, atMs] as const));
  const tidy = (names: Map<string, number>, claimed: string[] = []) =>
    withoutUnclaimed(shard('', { counted: names }), {
      isClaimed: (oid) => claimed.includes(oid),
      countedAtMs,
    }).counted.size;

  it('stay while they are few', () => expect(tidy(counted(200, 0))).toBe(200));
  it('are dropped once they are many', () => expect(tidy(counted(201, 0), ['5', '6'])).toBe(2));
  it('stay for ten minutes, while a batch may claim them unseen', () => {
    expect(tidy(counted(201, countedAtMs - 10 * 60_000))).toBe(201);
    expect(tidy(counted(201, countedAtMs - 10 * 60_000 - 1))).toBe(0);
  });
});

it('a shard that was never scanned holds nothing', () => {
  expect(unscannedShard('3', 5)).toEqual({
    prefix: '3',
    epoch: 5,
    partOf: null,
    storedBytes: 0,
    objectCount: 0,
    sinceBytes: 0,
    sinceCount: 0,
    countedAtMs: 0,
    scanEndedMs: 0,
    stale: null,
    counted: new Map(),
    appliedRuns: new Set(),
  });
});
