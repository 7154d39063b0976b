import { describe, expect, it } from 'vitest';
import {
  type Deletion,
  isClaimable,
  isEndless,
  isGivenUp,
  isVoid,
  keptUntilMs,
  newDeletion,
  oidsOf,
  type Removal,
} from '../../../../../../lambda/core/ledger/rules/deletion.ts';
import { defaultSettings } from '../../../../../../lambda/core/rules/settings.ts';

const settings = { ...defaultSettings, clockSkewMs: 7, batchTimeLimitMs: 100, listingTrustMs: 30 };
const marked = newDeletion({ id: 'd', repo: 'app', objects: new Map([['a', 1]]), dueAtMs: 50 });

const oid = 'a'.repeat(64);
const removal: Removal = {
  runMs: 1000,
  beganMs: 900,
  endedMs: 950,
  objects: new Map([
    [oid, { sizeBytes: 7, lastModifiedMs: 5 }],
    ['notes.txt', { sizeBytes: 8, lastModifiedMs: 5 }],
  ]),
};

describe('a deletion', () => {
  const claimable = (deletion: Partial<Deletion>, ...times: number[]) =>
    times.map((nowMs) => isClaimable(settings, { ...marked, ...deletion }, nowMs));

  it('that is marked may be claimed as soon as its grace time is over', () => {
    expect(marked).toMatchObject({ state: 'scheduled', deadlineMs: 0 });
    expect(claimable({}, 49, 50)).toEqual([false, true]);
  });

  it('that the store refuses is reported from an hour on, and given up after a week, unless nobody has tried it for a day', () => {
    const [hour, day] = [60 * 60_000, 24 * 60 * 60_000];
    const endless = (state: Deletion['state'], nowMs: number) => isEndless({ state, dueAtMs: 50 }, nowMs);
    expect([endless('deleting', 50 + hour), endless('deleting', 51 + hour)]).toEqual([false, true]);
    expect([endless('scheduled', 51 + hour), endless('deleted', 51 + hour)]).toEqual([false, false]);
    const givenUp = (nowMs: number, state: Deletion['state'] = 'deleting') =>
      isGivenUp({ state, dueAtMs: 50, deadlineMs: 7 * day }, nowMs);
    expect([givenUp(50 + 7 * day), givenUp(51 + 7 * day)]).toEqual([false, true]);
    expect([givenUp(8 * day - 1), givenUp(8 * day)]).toEqual([true, false]);
    expect(givenUp(51 + 7 * day, 'scheduled')).toBe(false);
  });

  it('that was made to empty a repo is void once the closing of the repo has ended', () => {
    const repoOf = (closedAtMs: number | null) => ({ closedAtMs });
    const nowMs = 5;
    const emptying = { ...marked, closedAtMs: 7 };
    const repos = [repoOf(7), repoOf(null), repoOf(8), undefined];
    expect(repos.map((repo) => isVoid(settings, emptying, { repo, nowMs }))).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(repos.map((repo) => isVoid(settings, marked, { repo, nowMs }))).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  it('that somebody asked for is void once its repo was emptied and opened, however late it is written', () => {
    const repoOf = (endedClosingMs?: number) => ({ closedAtMs: null, endedClosingMs });
    const repos = [undefined, repoOf(), repoOf(7), repoOf(8)];
    const isVoidAfter = (afterClosingMs: number) =>
      repos.map((repo) => isVoid(settings, { ...marked, afterClosingMs }, { repo, nowMs: 5 }));
    expect(isVoidAfter(0)).toEqual([false, false, true, true]);
    // Without an item, or with a new one, its repo was there for a day with nothing in it.
    expect(isVoidAfter(7)).toEqual([false, false, false, true]);
  });

  it('of a gc run is void without the watch that it was made with, and near its end', () => {
    const sweep = { watchId: 'w', seenFromMs: 0 };
    const watch = { id: 'w', openedAtMs: 100, untilMs: 1000 };
    const repoOf = (some?: typeof watch) => ({ closedAtMs: null, ...(some && { watch: some }) });
    const isVoidAt = (nowMs: number, repo: ReturnType<typeof repoOf> | undefined) =>
      isVoid(settings, { ...marked, sweep }, { repo, nowMs });
    // Twice the skew before its end.
    expect([isVoidAt(985, repoOf(watch)), isVoidAt(986, repoOf(watch))]).toEqual([false, true]);
    expect(isVoidAt(500, repoOf({ ...watch, id: 'other' }))).toBe(true);
    expect(isVoidAt(500, repoOf())).toBe(true);
    expect(isVoidAt(500, undefined)).toBe(true);
  });

  it('is taken over only when its deleter has stopped by every clock: twice the skew after the deadline', () => {
    expect(claimable({ state: 'deleting', deadlineMs: 1000 }, 1000, 1014, 1015)).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('that is gone is never claimed again', () => {
    expect(claimable({ state: 'deleted', deadlineMs: 1000 }, 1000, 9e15)).toEqual([false, false]);
  });

  it('is not claimed again while what its last run removed is still counted', () => {
    expect(claimable({ removal }, 9e15)).toEqual([false]);
    expect(claimable({ state: 'deleting', deadlineMs: 1000, removal }, 9e15)).toEqual([false]);
  });

  it('that is gone is remembered for as long as a batch can run that a listing told of it, by every clock', () => {
    expect(keptUntilMs(settings, 1000)).toBe(1000 + 100 + 30 + 14);
  });
});

it('what a run has removed is remembered for batches by oid and size: they ask for no other names', () => {
  expect(oidsOf(removal)).toEqual(new Map([[oid, 7]]));
});
