import { describe, expect, it } from 'vitest';
import {
  decodeCandidates,
  encodeCandidates,
  endedGc,
  type GcRun,
  isTidied,
  isTooMuch,
  isUnderWay,
  lookedAt,
  newGc,
  plus,
  reachableSetKey,
  type Selection,
  snapshotFromMs,
  tidiedGc,
  withFailure,
  withRun,
  withSelection,
  withSet,
} from '../../../../../../lambda/subjects/gc/rules/gc.ts';

const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];

describe('a file of candidates', () => {
  it('says what it was told', () => {
    const candidates = [
      { oid: a, sizeBytes: 0 },
      { oid: b, sizeBytes: 5 * 1024 ** 3 },
    ];
    expect(encodeCandidates(candidates).toString()).toBe(`${a} 0\n${b} 5368709120\n`);
    expect(decodeCandidates(encodeCandidates(candidates))).toEqual(candidates);
    expect(decodeCandidates(encodeCandidates([]))).toEqual([]);
  });

  it.each([`${a} 1`, `${a} 1\n${b}`])('that is not whole deletes nothing: %j', (text) => {
    expect(decodeCandidates(Buffer.from(text))).toBeUndefined();
  });

  it.each([
    ...[`${a} x\n`, `${a.slice(1)} 1\n`, `${a}a 1\n`, `${a}\n`, `${a} \n`, '\n', `${a} 1.5\n`, `${a} -1\n`],
    ...[`${a} 1e3\n`, `${a} 9007199254740992\n`, `${a} 1 2\n`, ` ${a} 1\n`, `${a} 1\n\n`],
  ])('with a line that is none deletes nothing: %j', (text) => {
    expect(decodeCandidates(Buffer.from(text))).toBeUndefined();
  });

  it('is read from within a larger buffer', () => {
    const bytes = Buffer.from(`xx${a} 1\nyy`);
    expect(decodeCandidates(bytes.subarray(2, -2))).toEqual([{ oid: a, sizeBytes: 1 }]);
  });
});

const watch = { id: 'w', openedAtMs: 1000, untilMs: 9000 };
const opened = newGc({ repo: 'app', watch });
const run: GcRun = {
  id: 'r',
  requestedAtMs: 2000,
  reachableCount: 1,
  reachableSha256: 'ab',
  isDryRun: false,
  isForced: false,
  minAgeMs: 0,
};
const sum = (bytes: number) => ({ objectCount: 1, bytes });
const selectionOf = (candidates: number): Selection => ({
  folder: 'f',
  files: 1,
  seenAtMs: 2500,
  listed: sum(100),
  kept: sum(1),
  young: sum(1),
  inUse: sum(1),
  candidates: sum(candidates),
  largest: [],
});

describe('a gc run', () => {
  it('waits for a run as long as its watch is open', () => {
    expect(opened).toMatchObject({ state: 'watching', dueAtMs: 9000, run: null, selection: null });
    expect(isUnderWay(opened)).toBe(true);
    expect(snapshotFromMs(opened, { gcWatchMs: 500 })).toBe(1500);
  });

  it('begins a run without what the last one found', () => {
    const before = withFailure(
      withSelection(withRun(opened, run), { selection: selectionOf(10), nowMs: 5 }),
      {
        reason: 'too-much',
        message: 'Half.',
      },
    );
    const begun = withRun({ ...before, progress: { file: 1, line: 2, deleted: sum(3) } }, run);
    expect(begun).toMatchObject({
      state: 'selecting',
      run,
      selection: null,
      failure: null,
      dueAtMs: 2000,
      progress: { file: 0, line: 0, deleted: { objectCount: 0, bytes: 0 } },
    });
    expect(isUnderWay(begun)).toBe(true);
  });

  it('goes on to delete what was found, and not after a dry run', () => {
    const selection = selectionOf(50);
    const found = (more: Partial<GcRun>) =>
      withSelection(withRun(opened, { ...run, ...more }), { selection, nowMs: 3000 });
    expect(found({})).toMatchObject({ state: 'deleting', selection, dueAtMs: 3000, failure: null });
    expect(found({ isDryRun: true })).toMatchObject({ state: 'watching', selection, dueAtMs: 9000 });
    expect(isUnderWay(found({}))).toBe(true);
  });

  it('deletes more than half of the bytes only if it is forced', () => {
    const selection = selectionOf(51);
    const found = (more: Partial<GcRun>) =>
      withSelection(withRun(opened, { ...run, ...more }), { selection, nowMs: 3000 });
    expect([isTooMuch(selectionOf(50)), isTooMuch(selection)]).toEqual([false, true]);
    expect(found({})).toMatchObject({ state: 'watching', selection, failure: { reason: 'too-much' } });
    expect(found({}).failure?.message).toContain('51 of 100 bytes');
    expect(found({ isForced: true })).toMatchObject({ state: 'deleting', failure: null });
    expect(found({ isDryRun: true })).toMatchObject({ state: 'watching', failure: null });
  });

  it('says what to do if it would be more than half', () => {
    const { failure } = withSelection(withRun(opened, run), { selection: selectionOf(51), nowMs: 3000 });
    expect(failure?.message).toMatch(
      /If the clone has all refs of all repos .* run it again with --force\.$/,
    );
  });

  it('deletes nothing that nobody has asked to delete', () => {
    const found = withSelection(opened, { selection: selectionOf(1), nowMs: 3000 });
    expect(found).toMatchObject({ state: 'watching', dueAtMs: 9000 });
  });

  it('is looked at again a minute later, and ends for good', () => {
    expect(lookedAt(opened, { nowMs: 5000 }).dueAtMs).toBe(65_000);
    const ended = endedGc(opened, { state: 'done', nowMs: 4000 });
    expect(ended).toMatchObject({ state: 'done', endedAtMs: 4000, dueAtMs: 4000 });
    expect(isUnderWay(ended)).toBe(false);
    expect(isTidied(ended)).toBe(false);
    const tidied = tidiedGc(ended, { nowMs: 4000 });
    expect(tidied).toEqual({ ...ended, dueAtMs: null });
    expect(isTidied(tidied)).toBe(true);
    expect(isTidied(opened)).toBe(false);
  });

  it('knows until when the largest of its reachable sets can land, and is due once more after that', () => {
    const large = withSet(opened, { bytes: 80, untilMs: 4000 });
    const gc = withSet(large, { bytes: 8, untilMs: 5000 });
    expect(gc.set).toEqual({ bytes: 80, untilMs: 5000 });
    expect(withSet(gc, { bytes: 9, untilMs: 4500 }).set).toEqual(gc.set);
    const ended = endedGc(gc, { state: 'done', nowMs: 4000 });
    const early = tidiedGc(ended, { nowMs: 5000 });
    expect(early).toEqual({ ...ended, dueAtMs: 5001 });
    expect(isTidied(early)).toBe(true);
    const { set: _, ...rest } = ended;
    expect(tidiedGc(early, { nowMs: 5001 })).toEqual({ ...rest, dueAtMs: null });
  });

  it('has one place for its reachable set in each repo', () => {
    const keys = ['a', 'b', 'a/b'].map((repo) => reachableSetKey({ tenant: 'acme', repo }));
    expect(new Set(keys).size).toBe(3);
  });

  it('adds up', () => {
    expect(plus(sum(3), { objectCount: 4, bytes: 5 })).toEqual({ objectCount: 5, bytes: 8 });
  });
});
