import { describe, expect, it } from 'vitest';
import {
  indexOfName,
  isToBeSplit,
  partsOf,
  planShards,
  rangeAt,
  type Shard,
  type ShardPlace,
  scannedShard,
  shardDueAtMs,
  shardsInForce,
  sizeClassOf,
  unscannedShard,
  withDoubt,
  withoutUnclaimed,
} from '../../../../../../lambda/core/ledger/rules/shard.ts';
import type { RepoRecord } from '../../../../../../lambda/core/ledger/rules/tenant.ts';
import { compareKeys } from '../../../../../../lambda/core/rules/names.ts';
import { defaultSettings } from '../../../../../../lambda/core/rules/settings.ts';
import type { KeyRange } from '../../../../../../lambda/core/scan/rules/key-space.ts';
import { Random } from '../../../../../support/random.ts';
import { shardRecord } from '../../../../../support/shard-record.ts';

describe('shard plan', () => {
  const settings = {
    ...defaultSettings,
    largeRepoObjects: 1000,
    shardObjectsMax: 100,
    shardRoundMs: 10_000,
    clockSkewMs: 50,
  };
  const large = { sinceEpoch: 1, rescanFromMs: 0 };
  const record = (more: Partial<RepoRecord>): RepoRecord => ({
    repo: 'app',
    epoch: 3,
    storedBytes: 0,
    objectCount: 0,
    scannedAtMs: 0,
    dirtyToken: null,
    covered: new Set(),
    putsUntilMs: 0,
    closedAtMs: null,
    ...more,
  });
  const shard = shardRecord;

  describe('a repo', () => {
    it.each([
      ['of as many objects as the setting says is large', { objectCount: 1000 }, 'large'],
      ['of fewer is not', { objectCount: 999 }, 'ordinary'],
      ['stays large down to half', { objectCount: 500, large }, 'large'],
      ['below half is large no longer', { objectCount: 499, large }, 'ordinary'],
      ["that was never counted isn't large", { objectCount: 1000, epoch: 0 }, 'ordinary'],
      ['that is being deleted becomes none', { objectCount: 1000, closedAtMs: 5 }, 'ordinary'],
      ['beside the folders is none', { objectCount: 1000, repo: '' }, 'ordinary'],
    ] as const)('%s', (_, given, expected) => {
      expect(sizeClassOf(settings, record(given))).toBe(expected);
    });

    it('whose initial scan goes on stays a large repo, whatever was counted before', () => {
      const counting = { ...large, isInitialScan: true } as const;
      expect(sizeClassOf(settings, record({ objectCount: 0, epoch: 0, large: counting }))).toBe('large');
    });
  });

  it('a shard is split when it is too large, unless its prefix is as long as any', () => {
    expect(isToBeSplit(settings, shard('3', { objectCount: 90, sinceCount: 10 }))).toBe(false);
    expect(isToBeSplit(settings, shard('3', { objectCount: 90, sinceCount: 11 }))).toBe(true);
    expect(isToBeSplit(settings, shard('3fab', { objectCount: 1000 }))).toBe(false);
  });

  describe('a shard is due', () => {
    it('once in a round', () => expect(shardDueAtMs(settings, shard('3'), large)).toBe(11_000));
    it('at once if all are counted again', () => {
      expect(shardDueAtMs(settings, shard('3'), { ...large, rescanFromMs: 1001 })).toBe(0);
      expect(shardDueAtMs(settings, shard('3'), { ...large, rescanFromMs: 1000 })).toBe(11_000);
    });
    it('after a doubt, as soon as no clock says that its scan began before', () => {
      const stale = { fromMs: 1, untilMs: 2000, doubtBytes: 1 };
      expect(shardDueAtMs(settings, shard('3', { stale }), large)).toBe(2101);
    });
  });

  describe('the plan', () => {
    const plan = (shards: Shard[], more: { nowMs?: number; listsMax?: number } = {}) =>
      planShards(settings, { shards, large, nowMs: more.nowMs ?? 20_000, listsMax: more.listsMax ?? 100 });
    const stale = { fromMs: 1, untilMs: 2000, doubtBytes: 1 };

    it('has those in doubt first, and then the longest due', () => {
      const shards = [
        shard('0', { scannedAtMs: 900 }),
        shard('1', { scannedAtMs: 800 }),
        shard('2', { scannedAtMs: 15_000, stale }),
        shard('3', { scannedAtMs: 15_000 }),
      ];
      expect(plan(shards).prefixes).toEqual(['2', '1', '0']);
    });

    it('has a shard from the moment when it is due', () => {
      expect(plan([shard('0')], { nowMs: 10_999 })).toEqual({ prefixes: [], nextDueAtMs: 11_000 });
      expect(plan([shard('0')], { nowMs: 11_000 })).toEqual({ prefixes: ['0'], nextDueAtMs: 21_000 });
    });

    it('reckons with a request for each thousand objects, also of those that came since the scan', () => {
      const shards = [shard('0', { objectCount: 900, sinceCount: 200 }), shard('1')];
      expect(plan(shards, { listsMax: 3 }).prefixes).toEqual(['0']);
      expect(plan(shards, { listsMax: 4 }).prefixes).toEqual(['0', '1']);
    });

    it('ends when it has enough requests, and says when the next is due', () => {
      const shards = [
        shard('0', { objectCount: 2500 }),
        shard('1', { objectCount: 10 }),
        shard('2', { scannedAtMs: 15_000 }),
      ];
      expect(plan(shards, { listsMax: 4 })).toEqual({ prefixes: ['0'], nextDueAtMs: 11_000 });
      expect(plan(shards, { listsMax: 5 })).toEqual({ prefixes: ['0', '1'], nextDueAtMs: 25_000 });
      expect(plan(shards, { listsMax: 0 })).toEqual({ prefixes: [], nextDueAtMs: 11_000 });
    });
  });
});

describe('shard', () => {
  const shard = shardRecord;
  const childrenOf = (prefix: string) => prefixes(partsOf({ prefix }));
  const prefixes = (shards: readonly ShardPlace[]) => shards.map(({ prefix }) => prefix);

  describe('the ranges of shards', () => {
    const isIn = ({ after, last }: KeyRange, name: string) =>
      (after === null || compareKeys(name, after) > 0) && (last === null || compareKeys(name, last) <= 0);
    const odd = [
      '',
      '!',
      '0',
      '00',
      '0f',
      '0z',
      '1-readme',
      '1',
      '3',
      '3g',
      '9:',
      'A',
      'a',
      'ff',
      'fz',
      'ü',
      '文',
    ];
    const hashes = ['0'.repeat(64), 'f'.repeat(64), `3f${'0'.repeat(62)}`, `3f${'f'.repeat(62)}`];
    const paths = Array.from({ length: 40 }, (_, index) => `photos/${index % 7}/a b:${index}.jpg`);
    const names = [...odd, ...hashes, ...paths].sort(compareKeys);

    /** Splits one shard after the other. @returns those in force before each split, and after the last. */
    function* splits(first: readonly ShardPlace[], random: Random): Iterable<readonly ShardPlace[]> {
      let places = [...first];
      for (let split = 0; split < 6; split += 1) {
        yield places;
        const index = random.int(0, places.length - 1);
        const place = places[index] ?? { prefix: '' };
        const range = rangeAt(places, index);
        const cuts = names.filter((name) => isIn(range, name) && random.chance(0.3)).slice(0, 15);
        if (place.after !== undefined && cuts.length === 0) continue;
        const parts = partsOf(place, cuts);
        const within = parts.map((_, part) => rangeAt(parts, part, range.last));
        for (const name of names)
          expect(within.filter((each) => isIn(each, name)).length, name).toBe(isIn(range, name) ? 1 : 0);
        places = places.toSpliced(index, 1, ...parts);
      }
      yield places;
    }

    it.each([
      ['of oids', partsOf({ prefix: '' })],
      ['of files', [{ prefix: '', after: null }]],
    ])('%s have every name exactly once, however they are split', (_, first) => {
      for (let seed = 0; seed < 30; seed += 1)
        for (const places of splits(first, new Random(seed)))
          for (const name of names) {
            const owners = places.filter((_place, index) => isIn(rangeAt(places, index), name));
            expect(owners, name).toEqual([places[indexOfName(places, name)]]);
          }
    });

    it('begin with sixteen, in order', () => {
      expect(childrenOf('').join('')).toBe('0123456789abcdef');
      expect(childrenOf('f').slice(14)).toEqual(['fe', 'ff']);
    });

    it('have the oids that begin with their digits', () => {
      const places = partsOf({ prefix: '3' });
      const range = rangeAt(places, 15, '4');
      for (const [name, expected] of [
        [`3f${'0'.repeat(62)}`, true],
        [`3f${'f'.repeat(62)}`, true],
        [`40${'0'.repeat(62)}`, false],
      ] as const)
        expect(isIn(range, name)).toBe(expected);
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

    it('are not those that are left from when the repo was a large repo before', () => {
      const items = [shard('0', { epoch: 4 }), shard('00'), shard('1')];
      expect(inForce(items, 5)).toEqual(['00', '1']);
    });

    describe('below which there are parts', () => {
      const written = (prefix: string, epoch: number | null) =>
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
          expect(found([above(epoch), ...written('3', 5)])).toEqual({
            inForce: childrenOf('3'),
            replaced: ['3'],
          });
      });

      it('are replaced by the parts of their parts, too', () => {
        const items = [above(5), ...written('3', 5).slice(1), ...written('30', 9)];
        const parts = [...childrenOf('30'), ...childrenOf('3').slice(1)];
        expect(found(items)).toEqual({ inForce: parts, replaced: ['3'] });
        // The write that created a part landed once more, too.
        const again = shard('30', { epoch: 9, partOf: { prefix: '3', epoch: 5 } });
        expect(found([...items, again])).toEqual({ inForce: parts, replaced: ['3', '30'] });
      });

      it('are in force while one is missing', () => {
        for (const missing of [0, 7, 15])
          expect(found([above(5), ...written('3', 5).toSpliced(missing, 1)])).toEqual({
            inForce: ['3'],
            replaced: [],
          });
        const deeper = [...written('3', 5).slice(1), ...written('30', 9).slice(1)];
        expect(found([above(5), ...deeper])).toEqual({ inForce: ['3'], replaced: [] });
      });

      it('are in force if they have changed since the split, or the parts do not say of what they are', () => {
        expect(found([above(6), ...written('3', 5)])).toEqual({ inForce: ['3'], replaced: [] });
        expect(found([above(5), ...written('3', null)])).toEqual({ inForce: ['3'], replaced: [] });
        const mixed = [
          ...written('3', 6).slice(1),
          shard('30', { epoch: 9, partOf: { prefix: '3', epoch: 5 } }),
        ];
        expect(found([above(6), ...mixed])).toEqual({ inForce: ['3'], replaced: [] });
      });

      it('are replaced by smaller parts of the shard above them, unless these are older', () => {
        const partOf = { prefix: '3', epoch: 5 };
        const smaller = childrenOf('30').map((part) => shard(part, { epoch: 9, partOf }));
        const parts = [...smaller, ...written('3', 5).slice(1)];
        const left = (epoch: number) => shard('30', { epoch, partOf });
        expect(found([...parts, left(8)])).toEqual({ inForce: prefixes(parts), replaced: ['30'] });
        expect(found([above(5), ...parts]).replaced).toEqual(['3']);
        for (const epoch of [9, 10])
          expect(found([...parts, left(epoch)])).toEqual({ inForce: childrenOf('3'), replaced: [] });
      });

      it('have four digits at most', () => {
        const items = [shard('3333'), ...written('3333', 5)];
        expect(found(items)).toEqual({ inForce: ['3333'], replaced: [] });
      });
    });
  });

  it('a scanned shard has nothing of before its scan', () => {
    const scan = {
      storedBytes: 9,
      objectCount: 2,
      scannedAtMs: 2000,
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
        scannedAtMs: 2000,
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
    const scannedAtMs = 1e9;
    const counted = (count: number, atMs: number) =>
      new Map(Array.from({ length: count }, (_, index) => [`${index}`, atMs] as const));
    const tidy = (names: Map<string, number>, claimed: string[] = []) =>
      withoutUnclaimed(shard('', { counted: names }), {
        isClaimed: (oid) => claimed.includes(oid),
        scannedAtMs,
      }).counted.size;

    it('stay while they are few', () => expect(tidy(counted(200, 0))).toBe(200));
    it('are dropped once they are many', () => expect(tidy(counted(201, 0), ['5', '6'])).toBe(2));
    it('stay for ten minutes, while a batch may claim them unseen', () => {
      expect(tidy(counted(201, scannedAtMs - 10 * 60_000))).toBe(201);
      expect(tidy(counted(201, scannedAtMs - 10 * 60_000 - 1))).toBe(0);
    });
  });

  it('a shard that was never scanned holds nothing', () => {
    expect(unscannedShard({ prefix: '3' }, 5)).toEqual({
      prefix: '3',
      epoch: 5,
      partOf: null,
      storedBytes: 0,
      objectCount: 0,
      sinceBytes: 0,
      sinceCount: 0,
      scannedAtMs: 0,
      scanEndedMs: 0,
      stale: null,
      counted: new Map(),
      appliedRuns: new Set(),
    });
  });
});
