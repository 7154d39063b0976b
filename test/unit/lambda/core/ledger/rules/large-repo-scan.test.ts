import { describe, expect, it } from 'vitest';
import {
  type EndedRun,
  type FoundObject,
  LargeRepoScan,
} from '../../../../../../lambda/core/ledger/rules/large-repo-scan.ts';
import {
  countedNamesMax,
  type Shard,
  type ShardScan,
  unscannedShard,
} from '../../../../../../lambda/core/ledger/rules/shard.ts';
import { shardRecord } from '../../../../../support/shard-record.ts';

const hour = 3_600_000;
const epoch = 9;
const clockSkewMs = 100;
const scannedAtMs = 100 * hour;
const oid = (start: string) => start.padEnd(64, '0');

const shard = (prefix: string, more: Partial<Shard> = {}): Shard =>
  shardRecord(prefix, {
    storedBytes: 100,
    objectCount: 10,
    scannedAtMs,
    scanEndedMs: scannedAtMs + 1000,
    ...more,
  });
const run = (
  objects: Record<string, { sizeBytes: number; lastModifiedMs: number | null }>,
  more: Partial<EndedRun> = {},
): EndedRun => ({
  runId: 'd1:7',
  runMs: 7,
  beganMs: scannedAtMs + hour,
  endedMs: scannedAtMs + hour + 1000,
  objects: new Map(Object.entries(objects)),
  ...more,
});
const scan = (more: Partial<ShardScan> = {}): ShardScan => ({
  storedBytes: 50,
  objectCount: 5,
  scannedAtMs: scannedAtMs + 2 * hour,
  scanEndedMs: scannedAtMs + 2 * hour + 1000,
  seen: new Set(),
  ...more,
});
const large = (shards: Shard[], runs: EndedRun[] = []) =>
  new LargeRepoScan({ epoch, shards, runs, settings: { clockSkewMs } });
const sixteen = (part: ShardScan) => Array.from({ length: 16 }, () => part);
/** An object that was put after the last scan, and claimed before that. */
const arrived = (more: Partial<FoundObject> = {}): FoundObject => ({
  oid: oid('1a'),
  sizeBytes: 7,
  lastModifiedMs: scannedAtMs + hour,
  claimedSinceMs: scannedAtMs + hour,
  foundAtMs: 1,
  ...more,
});
const unclaimed = { isClaimed: () => false };
const sums = (count: LargeRepoScan) => {
  const { storedBytes, objectCount, doubtBytes } = count.totals();
  return [storedBytes, objectCount, doubtBytes];
};

describe('what is found', () => {
  it('is counted once', () => {
    const count = large([shard('0'), shard('1')]);
    const object = arrived({ oid: oid('1a'), sizeBytes: 7, foundAtMs: 1 });
    expect(count.isCounted(object.oid)).toBe(false);
    expect(count.found(object)).toBe(true);
    expect(count.found(object)).toBe(true);
    expect(count.isCounted(object.oid)).toBe(true);
    expect(sums(count)).toEqual([207, 21, 0]);
    expect(count.changes()).toEqual([
      {
        kind: 'write',
        epochRead: 5,
        shard: shard('1', { epoch, sinceBytes: 7, sinceCount: 1, counted: new Map([[object.oid, 1]]) }),
      },
    ]);
  });

  it('stays claimed if its shard can keep no other name', () => {
    const names = Array.from({ length: countedNamesMax }, (_, index) => [`${index}`, 1] as const);
    const count = large([shard('', { counted: new Map(names) })]);
    expect(count.found(arrived({ oid: oid('a') }))).toBe(false);
    expect(count.changes()).toEqual([]);
  });
});

describe('a scan', () => {
  it('replaces what was found before, in one write', () => {
    const count = large([
      shard('0', { sinceBytes: 7, sinceCount: 1, counted: new Map([[oid('0a'), 1]]) }),
      shard('1'),
    ]);
    const { seen, ...found } = scan({ seen: new Set([oid('0b')]) });
    expect(count.scanned('0', [{ ...found, seen }])).toBe(true);
    expect(sums(count)).toEqual([150, 15, 0]);
    expect([count.isCounted(oid('0a')), count.isCounted(oid('0b'))]).toEqual([false, true]);
    const counted = new Map([[oid('0b'), found.scannedAtMs]]);
    expect(count.changes()).toEqual([
      { kind: 'write', epochRead: 5, shard: shard('0', { ...found, epoch, counted }) },
    ]);
  });

  it('is of a shard of the repo', () => {
    expect(() => large([shard('0')]).scanned('7', [scan()])).toThrow('There is no shard 7.');
  });

  it('of sixteen parts splits the shard: the parts are written before it is removed', () => {
    const count = large([shard('0'), shard('1')]);
    expect(count.scanned('0', sixteen(scan()))).toBe(true);
    expect(sums(count)).toEqual([16 * 50 + 100, 16 * 5 + 10, 0]);
    const changes = count.changes();
    expect(changes).toHaveLength(17);
    const part = { prefix: '00', epoch, partOf: { prefix: '0', epoch: 5 } };
    expect(changes[0]).toMatchObject({ kind: 'write', epochRead: null, shard: part });
    expect(changes.at(-1)).toEqual({ kind: 'remove', prefix: '0', epochRead: 5 });
  });

  it('of a part of a split that is not written yet removes only what was read', () => {
    const count = large([unscannedShard({ prefix: '0' }, 5), shard('1')]);
    count.split('0');
    count.split('07');
    const changes = count.changes();
    expect(changes).toHaveLength(15 + 16 + 1);
    const written = changes.filter((change) => change.kind === 'write');
    for (const { shard } of written) expect(shard.partOf).toEqual({ prefix: '0', epoch: 5 });
    expect(changes.filter(({ kind }) => kind === 'remove')).toEqual([
      { kind: 'remove', prefix: '0', epochRead: 5 },
    ]);
  });

  it('that saw more names than a shard can keep is not taken over', () => {
    const seen = (count: number) => new Set(Array.from({ length: count }, (_, index) => `${index}`));
    const count = large([shard('')]);
    expect(count.scanned('', [scan({ seen: seen(countedNamesMax + 1) })])).toBe(false);
    const parts = sixteen(scan());
    expect(count.scanned('', [scan({ seen: seen(countedNamesMax + 1) }), ...parts.slice(1)])).toBe(false);
    expect(count.changes()).toEqual([]);
    expect(count.scanned('', [scan({ seen: seen(countedNamesMax) })])).toBe(true);
  });

  it('ends a doubt only if it surely began after it', () => {
    const began = scannedAtMs + 2 * hour;
    for (const [untilMs, isOver] of [
      [began - 2 * clockSkewMs, false],
      [began - 2 * clockSkewMs - 1, true],
    ] as const) {
      const count = large([shard('', { stale: { fromMs: 1, untilMs, doubtBytes: 3 } })]);
      count.scanned('', [scan()]);
      expect(count.totals().staleFromMs === null).toBe(isOver);
    }
  });
});

describe('what a delete removed', () => {
  it('is taken off if an entry of it was counted', () => {
    const name = oid('a');
    const removal = run({ [name]: { sizeBytes: 7, lastModifiedMs: scannedAtMs + 5 } });
    const count = large([shard('', { counted: new Map([[name, 1]]) })], [removal]);
    count.removed(removal, { isClaimed: () => true });
    expect(sums(count)).toEqual([93, 9, 0]);
    expect(count.isCounted(name)).toBe(false);
  });

  it('is taken off if it was there long before the scan, and nobody claims it', () => {
    const old = { [oid('a')]: { sizeBytes: 7, lastModifiedMs: scannedAtMs - 2 * hour - 1 } };
    const count = large([shard('')]);
    count.removed(run(old), unclaimed);
    expect(sums(count)).toEqual([93, 9, 0]);
    expect(count.totals().staleFromMs).toBeNull();
    const claimed = large([shard('')]);
    claimed.removed(run(old), { isClaimed: () => true });
    expect(sums(claimed)).toEqual([100, 10, 7]);
  });

  it.each([
    ['its PUT may have ended after the scan began', { lastModifiedMs: scannedAtMs - 2 * hour }, {}],
    ['it was not there any more', { lastModifiedMs: null }, {}],
    [
      'its run lasted from before the scan until after it',
      {},
      { beganMs: scannedAtMs - 20_000, endedMs: scannedAtMs + 21_000 },
    ],
    ['it was removed while the shard was scanned', {}, { beganMs: scannedAtMs + 1000 + 2 * clockSkewMs }],
  ])('is in doubt if %s', (_, object, times) => {
    const removal = run({ [oid('a')]: { sizeBytes: 7, lastModifiedMs: 0, ...object } }, times);
    const count = large([shard('')]);
    count.removed(removal, unclaimed);
    expect(sums(count)).toEqual([100, 10, 7]);
    expect(count.shards[0]?.stale).toEqual({
      fromMs: removal.beganMs,
      untilMs: removal.endedMs,
      doubtBytes: 7,
    });
  });

  it('is none of a shard whose scan surely began later', () => {
    const name = oid('a');
    const endedMs = scannedAtMs - 2 * clockSkewMs - 1;
    const removal = run({ [name]: { sizeBytes: 7, lastModifiedMs: 0 } }, { beganMs: endedMs - 5, endedMs });
    const count = large([shard('', { counted: new Map([[name, 1]]) })]);
    count.removed(removal, unclaimed);
    expect(count.changes()).toEqual([]);
    expect(count.isCounted(name)).toBe(true);
  });

  it('is taken off once, in each of its shards, while its record lasts', () => {
    const old = { sizeBytes: 7, lastModifiedMs: 0 };
    const removal = run({ [oid('0a')]: old, [oid('1a')]: old, [oid('1b')]: old });
    const count = large([shard('0', { appliedRuns: new Set([removal.runId]) }), shard('1')], [removal]);
    count.removed(removal, unclaimed);
    expect(sums(count)).toEqual([186, 18, 0]);
    expect(count.changes()).toMatchObject([
      { shard: { prefix: '1', appliedRuns: new Set([removal.runId]), sinceBytes: -14, sinceCount: -2 } },
    ]);
    const later = large([shard('1', { appliedRuns: new Set([removal.runId]) })]);
    later.found(arrived({ oid: oid('1c'), sizeBytes: 1 }));
    expect(later.changes()).toMatchObject([{ shard: { appliedRuns: new Set() } }]);
  });
});

describe('a change without a name', () => {
  const change = { fromMs: scannedAtMs, untilMs: scannedAtMs + 1000 };

  it('puts every shard in doubt that was counted before it, with all that it holds', () => {
    const count = large([
      shard('0', { sinceBytes: 7, sinceCount: 1 }),
      shard('1', { scannedAtMs: scannedAtMs + hour }),
    ]);
    count.doubted(change);
    expect(sums(count)).toEqual([207, 21, 107]);
    expect(count.changes()).toMatchObject([{ shard: { prefix: '0' } }]);
  });

  it.each([
    ['not again if the doubt is of the same time', 0, 0, false],
    ['not again if the doubt is of a longer time', -1, 1, false],
    ['once more if it may have happened before the doubt', 1, 0, true],
    ['once more if it may have happened after the doubt', 0, -1, true],
  ])('puts a shard in doubt %s', (_, laterMs, longerMs, isNew) => {
    const stale = { fromMs: change.fromMs + laterMs, untilMs: change.untilMs + longerMs, doubtBytes: 3 };
    const count = large([shard('', { stale })]);
    count.doubted(change);
    expect(count.totals().doubtBytes).toBe(isNew ? 103 : 3);
    expect(count.changes()).toHaveLength(isNew ? 1 : 0);
  });
});

it('a large repo is in doubt since the oldest change that may be counted or not, by as much as all its shards', () => {
  const stale = (fromMs: number, doubtBytes: number) => ({ stale: { fromMs, untilMs: 99, doubtBytes } });
  const count = large([
    shard('0'),
    shard('1', stale(20, 1)),
    shard('2', stale(10, 2)),
    shard('3', stale(30, 4)),
  ]);
  expect(count.totals()).toEqual({ storedBytes: 400, objectCount: 40, doubtBytes: 7, staleFromMs: 10 });
});

describe('a scan looks for', () => {
  it('what is claimed and for what was counted, of its own shard', () => {
    const count = large([shard('0', { counted: new Map([[oid('0b'), 1]]) }), shard('1')]);
    const claimed = [oid('0a'), oid('1a')];
    expect(count.namesToLookFor('0', { claimed, scannedAtMs: 5 })).toEqual(new Set([oid('0a'), oid('0b')]));
    expect(count.namesToLookFor('1', { claimed, scannedAtMs: 5 })).toEqual(new Set([oid('1a')]));
  });

  it('what nobody claims only until its age tells that it was counted: for two hours', () => {
    const notedAtMs = scannedAtMs;
    const count = large([shard('', { counted: new Map([[oid('a'), notedAtMs]]) })]);
    const names = (atMs: number) => count.namesToLookFor('', { claimed: [], scannedAtMs: atMs }).size;
    expect(names(notedAtMs + 2 * hour)).toBe(1);
    expect(names(notedAtMs + 2 * hour + 1)).toBe(0);
  });
});

describe('names that nobody claims any more', () => {
  const names = (count: number) =>
    new Map(Array.from({ length: count }, (_, index) => [`${index}`, 1] as const));
  const tidied = (claimed: Iterable<string>) => {
    const count = large([shard('0', { counted: names(300) }), shard('9', { counted: names(100) })]);
    count.tidy({ claimed, scannedAtMs });
    return count;
  };

  it('leave a shard that has many of them', () => {
    const count = tidied(['7']);
    expect(count.shards.map(({ counted }) => counted.size)).toEqual([1, 100]);
    expect(count.changes()).toMatchObject([{ kind: 'write', shard: { prefix: '0' } }]);
  });

  it('cause no write if there are none', () => {
    expect(tidied(names(300).keys()).changes()).toEqual([]);
  });
});

describe('what is found although it is not noted, and was claimed after the scan,', () => {
  const minutes = 60_000;
  const found = (more: Partial<FoundObject>) => {
    const count = large([shard('')]);
    const isKnown = count.found(arrived({ claimedSinceMs: scannedAtMs + hour, ...more }));
    return [isKnown, count.totals().objectCount - 10, count.shards[0]?.stale?.doubtBytes];
  };

  it('was counted by the scan if its PUT had ended hours before that', () => {
    expect(found({ lastModifiedMs: scannedAtMs - 2 * hour - 1 })).toEqual([true, 0, undefined]);
  });

  it('was not if it was young then: the scan noted what was young', () => {
    expect(found({ lastModifiedMs: scannedAtMs - 10 * minutes })).toEqual([true, 1, undefined]);
  });

  it('stays claimed in between, and its shard is scanned again', () => {
    expect(found({ lastModifiedMs: scannedAtMs - 10 * minutes - 1 })).toEqual([false, 0, 0]);
    expect(found({ lastModifiedMs: scannedAtMs - 2 * hour })).toEqual([false, 0, 0]);
    expect(found({ lastModifiedMs: null })).toEqual([false, 0, 0]);
  });

  it('was not if the scan looked for it', () => {
    const lastModifiedMs = scannedAtMs - 3 * hour;
    expect(found({ lastModifiedMs, claimedSinceMs: scannedAtMs - minutes - 1 })).toEqual([
      true,
      1,
      undefined,
    ]);
    expect(found({ lastModifiedMs, claimedSinceMs: scannedAtMs - minutes })).toEqual([true, 0, undefined]);
  });

  it('leaves a doubt that there is as it is', () => {
    const stale = { fromMs: 1, untilMs: 2, doubtBytes: 3 };
    const count = large([shard('', { stale })]);
    expect(count.found(arrived({ lastModifiedMs: null }))).toBe(false);
    expect(count.shards[0]?.stale).toEqual(stale);
  });
});

it('a shard that was never scanned is split, and its parts are written before it goes', () => {
  const count = large([unscannedShard({ prefix: '0' }, 5), shard('1')]);
  expect(count.isComplete).toBe(false);
  count.split('0');
  expect(count.scanned('07', [scan()])).toBe(true);
  const changes = count.changes();
  expect(changes).toHaveLength(17);
  expect(changes[7]).toMatchObject({
    kind: 'write',
    epochRead: null,
    shard: { prefix: '07', objectCount: 5 },
  });
  const part = { ...unscannedShard({ prefix: '08' }, epoch), partOf: { prefix: '0', epoch: 5 } };
  expect(changes[8]).toEqual({ kind: 'write', epochRead: null, shard: part });
  expect(changes[16]).toEqual({ kind: 'remove', prefix: '0', epochRead: 5 });
  expect(() => count.split('1')).toThrow('There is no unscanned shard 1.');
});

it('what was counted since a time is told by share of the names, and by objects', () => {
  const later = shard('20', { scannedAtMs: scannedAtMs + 1, objectCount: 3 });
  const count = large([unscannedShard({ prefix: '0' }, 5), shard('1'), later]);
  expect(count.scannedSince(0)).toEqual({ share: 1 / 16 + 1 / 256, objectCount: 13 });
  expect(count.scannedSince(scannedAtMs + 1)).toEqual({ share: 1 / 256, objectCount: 3 });
  expect(count.scannedSince(scannedAtMs)).toEqual({ share: 1 / 16 + 1 / 256, objectCount: 13 });
});

it('a change puts all shards in doubt, also those that were scanned just now', () => {
  const count = large([shard('0'), shard('1')]);
  count.scanned('0', [scan({ scannedAtMs: scannedAtMs + 1 })]);
  count.doubted({ fromMs: 1, untilMs: scannedAtMs + 1 });
  expect(count.shards.map(({ stale }) => stale !== null)).toEqual([true, true]);
});

it('a change that this reconcile has seen puts only the other shards in doubt', () => {
  const count = large([shard('0'), shard('1')]);
  count.scanned('0', [scan({ scannedAtMs: scannedAtMs + 1 })]);
  count.doubted({ fromMs: 1, untilMs: scannedAtMs + 1, isBeforeScans: true });
  expect(count.shards.map(({ stale }) => stale !== null)).toEqual([false, true]);
});
