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
import { compareKeys } from '../../../../../lambda/domain/key-order.ts';
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
  it('are those without a shard above them, in order', () => {
    const items = [shard('1'), shard('00'), shard('0'), shard('01')];
    expect(prefixes(shardsInForce(items, { sinceEpoch: 0 }))).toEqual(['0', '1']);
    const split = items.filter(({ prefix }) => prefix !== '0');
    expect(prefixes(shardsInForce(split, { sinceEpoch: 0 }))).toEqual(['00', '01', '1']);
  });

  it('are not those that are left from when the repo was a giant before', () => {
    const items = [shard('0', { epoch: 4 }), shard('00'), shard('1')];
    expect(prefixes(shardsInForce(items, { sinceEpoch: 5 }))).toEqual(['00', '1']);
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
  expect(scannedShard(scan, { prefix: '7', epoch: 6, appliedRuns: new Set(['r']) })).toEqual(
    shard('7', {
      epoch: 6,
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
