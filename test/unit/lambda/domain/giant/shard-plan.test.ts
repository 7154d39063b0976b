import { describe, expect, it } from 'vitest';
import type { Shard } from '../../../../../lambda/domain/giant/shard.ts';
import {
  isToBeSplit,
  planShards,
  shardDueAtMs,
  sizeClassOf,
} from '../../../../../lambda/domain/giant/shard-plan.ts';
import type { RepoRecord } from '../../../../../lambda/domain/tenant.ts';
import { defaultSettings } from '../../../../../lambda/rules/settings.ts';
import { shardRecord } from '../../../../support/shard-record.ts';

const settings = {
  ...defaultSettings,
  giantObjects: 1000,
  shardObjectsMax: 100,
  shardRoundMs: 10_000,
  clockSkewMs: 50,
};
const giant = { sinceEpoch: 1, recountFromMs: 0 };
const record = (more: Partial<RepoRecord>): RepoRecord => ({
  repo: 'app',
  epoch: 3,
  storedBytes: 0,
  objectCount: 0,
  countedAtMs: 0,
  dirtyToken: null,
  covered: new Set(),
  putsUntilMs: 0,
  closedAtMs: null,
  ...more,
});
const shard = shardRecord;

describe('a repo', () => {
  it.each([
    ['of as many objects as the setting says is a giant', { objectCount: 1000 }, 'giant'],
    ['of fewer is not', { objectCount: 999 }, 'ordinary'],
    ['stays a giant down to half', { objectCount: 500, giant }, 'giant'],
    ['below half is a giant no longer', { objectCount: 499, giant }, 'ordinary'],
    ['that was never counted is no giant', { objectCount: 1000, epoch: 0 }, 'ordinary'],
    ['that is being deleted becomes none', { objectCount: 1000, closedAtMs: 5 }, 'ordinary'],
    ['beside the folders is none', { objectCount: 1000, repo: '' }, 'ordinary'],
  ] as const)('%s', (_, given, expected) => {
    expect(sizeClassOf(settings, record(given))).toBe(expected);
  });

  it('whose first count goes on stays a giant, whatever was counted before', () => {
    const counting = { ...giant, isFirstCount: true } as const;
    expect(sizeClassOf(settings, record({ objectCount: 0, epoch: 0, giant: counting }))).toBe('giant');
  });
});

it('a shard is split when it is too large, unless its prefix is as long as any', () => {
  expect(isToBeSplit(settings, shard('3', { objectCount: 90, sinceCount: 10 }))).toBe(false);
  expect(isToBeSplit(settings, shard('3', { objectCount: 90, sinceCount: 11 }))).toBe(true);
  expect(isToBeSplit(settings, shard('3fab', { objectCount: 1000 }))).toBe(false);
});

describe('a shard is due', () => {
  it('once in a round', () => expect(shardDueAtMs(settings, shard('3'), giant)).toBe(11_000));
  it('at once if all are counted again', () => {
    expect(shardDueAtMs(settings, shard('3'), { ...giant, recountFromMs: 1001 })).toBe(0);
    expect(shardDueAtMs(settings, shard('3'), { ...giant, recountFromMs: 1000 })).toBe(11_000);
  });
  it('after a doubt, as soon as no clock says that its scan began before', () => {
    const stale = { fromMs: 1, untilMs: 2000, doubtBytes: 1 };
    expect(shardDueAtMs(settings, shard('3', { stale }), giant)).toBe(2101);
  });
});

describe('the plan', () => {
  const plan = (shards: Shard[], more: { nowMs?: number; listsMax?: number } = {}) =>
    planShards(settings, { shards, giant, nowMs: more.nowMs ?? 20_000, listsMax: more.listsMax ?? 100 });
  const stale = { fromMs: 1, untilMs: 2000, doubtBytes: 1 };

  it('has those in doubt first, and then the longest due', () => {
    const shards = [
      shard('0', { countedAtMs: 900 }),
      shard('1', { countedAtMs: 800 }),
      shard('2', { countedAtMs: 15_000, stale }),
      shard('3', { countedAtMs: 15_000 }),
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
      shard('2', { countedAtMs: 15_000 }),
    ];
    expect(plan(shards, { listsMax: 4 })).toEqual({ prefixes: ['0'], nextDueAtMs: 11_000 });
    expect(plan(shards, { listsMax: 5 })).toEqual({ prefixes: ['0', '1'], nextDueAtMs: 25_000 });
    expect(plan(shards, { listsMax: 0 })).toEqual({ prefixes: [], nextDueAtMs: 11_000 });
  });
});
