import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Deletion, newDeletion } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { countedNamesMax, unscannedShard } from '../../../../../lambda/core/ledger/rules/shard.ts';
import { unknownRepo } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import type { PathScanInput, PathScanOutcome } from '../../../../../lambda/core/scan/rules/scan-plan.ts';
import {
  type LargeRepoStack,
  largeRepoStack,
  lease,
  oidOf,
  repo,
} from '../../../../support/memory/large-repo-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';

const week = 7 * 24 * 60 * minute;
/** Not in the store. */
const missing = oidOf(70);

let stack: LargeRepoStack;

beforeEach(async () => {
  stack = await largeRepoStack();
});

type CountInput = Parameters<LargeRepoStack['scanLargeRepos']>[0];

/** What a reconcile that begins now finds of the large repo. */
async function count(more: CountInput = {}) {
  const { scan, ...outcome } = await begun(more);
  if (!scan) throw new Error('Its initial scan goes on.');
  return { ...outcome, scan };
}

/** The same, also while its initial scan goes on. */
async function begun(more: CountInput = {}) {
  const [outcome] = (await stack.scanLargeRepos(more)).outcomes;
  if (!outcome) throw new Error('It is a large repo.');
  return outcome;
}

/** A batch waits for the outcome. Its own reservation is left out. */
const awaiting = (...oids: string[]) => ({ awaitedOidsOf: () => new Set(oids) });

const record = async () => {
  const found = await stack.ledger.readRepo({ tenant, repo });
  if (!found) throw new Error('It is there.');
  return found;
};

/** The repo is ordinary again, and becomes a large repo in the reconcile of this epoch. */
const asNew = async () => {
  const { large: _, dirtyToken, closedAtMs: __, ...ordinary } = await record();
  const epoch = ordinary.epoch + 1;
  const before = { ...ordinary, epoch };
  await stack.ledger.commitRepo({ tenant, repo: before, dirtyTokenRead: dirtyToken });
  return { largeRepos: [await record()], epoch: epoch + 1 };
};

/** Replaces the scan of a shard. @returns what was asked of it. */
function scans(answer: (input: PathScanInput) => Partial<PathScanOutcome>): PathScanInput[] {
  const asked: PathScanInput[] = [];
  const none = {
    kind: 'done',
    storedBytes: 0,
    objectCount: 0,
    seen: new Map(),
    recent: new Set(),
    requests: 1,
  };
  vi.spyOn(stack.deps.scan, 'scan').mockImplementation(async (input) => {
    asked.push(input);
    return { ...none, ...answer(input) } as PathScanOutcome;
  });
  return asked;
}

describe('a large repo in which nothing has changed', () => {
  it('is the sum of its shards, without a request and without a write', async () => {
    const startedAtMs = stack.nowMs;
    stack.nowMs += 5 * minute;
    const [lists, heads] = [stack.lists, stack.heads];
    const found = await count();
    expect(found).toMatchObject({
      repo,
      scan: { storedBytes: 600, objectCount: 60 },
      large: (await record()).large,
      scannedAtMs: stack.nowMs,
      listedAtMs: startedAtMs,
      doubtBytes: 0,
      runs: [],
      shardLists: 0,
      nextDueAtMs: startedAtMs + week,
    });
    expect([stack.lists - lists, stack.heads - heads, found.count.changes()]).toEqual([0, 0, []]);
  });

  it('has its lease renewed after each page of shards, each object that is asked for, and each LIST', async () => {
    let renewals = 0;
    const renewing = {
      ...lease,
      renew: async () => {
        renewals += 1;
        return 'ours' as const;
      },
    };
    const renewalsOf = async (more: CountInput) => {
      renewals = 0;
      await count({ ...more, lease: renewing });
      return renewals;
    };
    const pages = await renewalsOf({});
    expect(pages).toBeGreaterThan(0);
    expect(await renewalsOf(awaiting(missing, oidOf(71)))).toBe(pages + 2);
    stack.nowMs += week;
    expect(await renewalsOf({})).toBe(pages + 16);
  });
});

describe('what a batch waits for', () => {
  it('is asked for by HEAD, and counted if it has arrived', async () => {
    await stack.send([missing]);
    const { scan, shardLists, count: counted } = await count(awaiting(missing, oidOf(71)));
    expect(scan).toMatchObject({ storedBytes: 610, objectCount: 61 });
    expect([scan.seen.has(missing), scan.seen.has(oidOf(71))]).toEqual([true, false]);
    expect(counted.changes()).toMatchObject([
      { shard: { sinceBytes: 10, counted: new Map([[missing, stack.nowMs]]) } },
    ]);
    // The HEADs are charged to nobody.
    expect(shardLists).toBe(0);
  });

  it('counts once if it has been there since long before the scan, and is claimed with another size', async () => {
    const { scan, count: counted } = await count(awaiting(oidOf(3)));
    expect(scan).toMatchObject({ storedBytes: 600, objectCount: 60 });
    expect(scan.seen.has(oidOf(3))).toBe(true);
    expect(counted.changes()).toMatchObject([{ shard: { sinceBytes: 0, sinceCount: 0 } }]);
    await stack.push(repo, { [oidOf(4)]: 11 });
    expect((await count()).scan).toMatchObject({ storedBytes: 600, objectCount: 60 });
  });

  it('is not asked for if it is counted', async () => {
    await stack.push(repo, { [missing]: 10 });
    await stack.send([missing]);
    await stack.reconcile();
    const heads = stack.heads;
    await count(awaiting(missing));
    expect(stack.heads).toBe(heads);
  });

  it('is asked for 5,000 times at most. Of the others nobody knows, so the next reconcile comes soon', async () => {
    const oids = Array.from(
      { length: 5001 },
      (_, index) => oidOf(index + 10_000).slice(0, 60) + (10_000 + index),
    );
    const heads = stack.heads;
    const { scan, nextDueAtMs } = await count(awaiting(...oids));
    expect(stack.heads - heads).toBe(5000);
    const unknown = oids.filter((oid) => scan.large?.unknown.has(oid));
    expect(unknown).toHaveLength(1);
    expect(nextDueAtMs).toBe(stack.nowMs + 10_000);
  });
});

it('names that are claimed stay, although the shard has many that nobody claims', async () => {
  const [claimed, other] = [oidOf(70), oidOf(71)];
  const prefix = claimed.slice(0, 1);
  const names = Array.from({ length: 200 }, (_, index) => prefix + `${index}`.padStart(63, '0'));
  const counted = new Map([claimed, other, ...names].map((name) => [name, 1] as const));
  await stack.changeShard(prefix, { counted });
  const { count: found } = await count(awaiting(claimed));
  expect(found.isCounted(claimed)).toBe(true);
  expect(found.shards.map((shard) => shard.counted.size).filter((size) => size > 0)).toEqual([1]);
});

describe('a shard that is due', () => {
  it('is scanned alone: its names, what is claimed of them, and what arrived in the last ten minutes', async () => {
    await stack.push(repo, { [missing]: 10 });
    stack.nowMs += week;
    const asked = scans(() => ({ storedBytes: 3, objectCount: 1 }));
    const [claimed, deadlineMs] = [missing.slice(0, 1), stack.nowMs + minute];
    const found = await count({ deadlineMs });
    expect(found.scan).toMatchObject({ storedBytes: 48, objectCount: 16 });
    expect(found).toMatchObject({ shardLists: 16, listedAtMs: stack.nowMs });
    expect(asked).toHaveLength(16);
    expect(asked.find(({ resume }) => resume?.ranges[0]?.after === claimed)).toMatchObject({
      prefix: `${tenant}/${repo}/`,
      resume: {
        prefix: `${tenant}/${repo}/`,
        ranges: [{ after: claimed, last: (Number.parseInt(claimed, 16) + 1).toString(16) }],
        storedBytes: 0,
        objectCount: 0,
        seen: [],
        requests: 0,
        isSequential: false,
        objectsExpected: 60,
      },
      lookFor: new Set([missing]),
      recentSinceMs: stack.nowMs - 10 * minute,
      deadlineMs,
    });
  });

  it('notes the oids of what was seen, and no other name', async () => {
    stack.nowMs += week;
    stack.put({ [`${repo}/${missing}`]: 10, [`${repo}/notes.txt`]: 5 });
    const { scan, count: counted } = await count();
    expect(scan).toMatchObject({ storedBytes: 615, objectCount: 62 });
    expect([counted.isCounted(missing), counted.isCounted('notes.txt')]).toEqual([true, false]);
  });

  it.each<[string, Partial<PathScanOutcome>]>([
    ['its scan does not end in time', { kind: 'unfinished' }],
    ['more arrived lately than can be told', { recent: 'too many' } as Partial<PathScanOutcome>],
  ])('stays as it is if %s, and is scanned again soon', async (_, answer) => {
    stack.nowMs += week;
    scans(({ resume }) => (resume?.ranges[0]?.after === '7' ? answer : {}));
    const { shardLists, nextDueAtMs, listedAtMs, count: counted } = await count();
    const changed = counted.changes().map((change) => change.kind === 'write' && change.shard.prefix);
    expect(changed).toHaveLength(15);
    expect(changed).not.toContain('7');
    expect(listedAtMs).toBe(stack.nowMs - week);
    expect([shardLists, nextDueAtMs]).toEqual([16, stack.nowMs + 10_000]);
  });

  it('is not scanned from the deadline on', async () => {
    stack.nowMs += week;
    const asked = scans(() => ({}));
    const { nextDueAtMs } = await count({ deadlineMs: stack.nowMs });
    expect([asked.length, nextDueAtMs]).toEqual([0, stack.nowMs + 10_000]);
    await count({ deadlineMs: stack.nowMs + 1 });
    expect(asked).toHaveLength(16);
  });

  it('is scanned in sixteen parts if it has too many objects', async () => {
    await stack.scanLargeRepos();
    stack.nowMs += week;
    scans(() => ({ objectCount: 21 }));
    const large = await count();
    for (const change of large.count.changes())
      if (change.kind === 'write')
        await stack.ledger.putShard({ tenant, repo, shard: change.shard, epochRead: change.epochRead });
    stack.nowMs += week;
    const asked = scans(() => ({ objectCount: 2 }));
    const split = await count();
    expect(asked).toHaveLength(256);
    expect(split.scan.objectCount).toBe(512);
    expect(split.count.shards[0]?.prefix).toBe('00');
  });
});

describe('when somebody asks for all to be counted again', () => {
  it('a round that is under way is overtaken, and those that were counted longest ago are scanned first', async () => {
    const rescanFromMs = stack.nowMs + 1;
    const large = { sinceEpoch: (await record()).large?.sinceEpoch ?? 0, rescanFromMs };
    const largeRepos = [{ ...(await record()), large }];
    stack.nowMs += minute;
    await stack.changeShard('3', { scannedAtMs: stack.nowMs });
    const { prefixes } = await scannedPrefixes(() => count({ isThorough: true, largeRepos }));
    expect(prefixes).toHaveLength(15);
    expect(prefixes).not.toContain('3');
    stack.nowMs += 1;
    const again = await scannedPrefixes(() => count({ isThorough: true, largeRepos }));
    expect(again.large.rescanFromMs).toBe(stack.nowMs);
    expect(again.prefixes).toHaveLength(16);
    expect(again.prefixes.at(-1)).toBe('3');
  });
});

/** What was found, and the prefixes of the shards that were scanned for it. */
async function scannedPrefixes(run: () => ReturnType<typeof count>) {
  const asked = scans(() => ({}));
  const outcome = await run();
  return { ...outcome, prefixes: asked.map(({ resume }) => resume?.ranges[0]?.after?.slice(0, 1) ?? '0') };
}

describe('a repo that becomes a large repo', () => {
  it('gets sixteen shards that were never scanned, and is marked. Its last count holds meanwhile', async () => {
    const before = await asNew();
    const scannedAtMs = stack.nowMs;
    stack.nowMs += minute;
    expect(await begun(before)).toMatchObject({
      scan: undefined,
      large: { sinceEpoch: before.epoch, rescanFromMs: 0, isInitialScan: true },
      scannedAtMs,
      doubtBytes: 600,
      shardLists: 0,
      nextDueAtMs: stack.nowMs,
    });
    expect((await record()).large).toEqual({
      sinceEpoch: before.epoch,
      rescanFromMs: 0,
      isInitialScan: true,
    });
    const shards = await stack.shards();
    expect(shards.map(({ prefix }) => prefix).join('')).toBe('0123456789abcdef');
    expect(shards.every((shard) => shard.scannedAtMs === 0 && shard.epoch === before.epoch)).toBe(true);
  });

  it('is counted by the next reconcile, which says how far it is', async () => {
    await begun(await asNew());
    const deadlineMs = stack.nowMs;
    // An initial scan is all that is asked for.
    const unconfirmed = await begun({ deadlineMs, isThorough: true });
    expect(unconfirmed.large).toMatchObject({
      rescanFromMs: 0,
      isInitialScan: true,
      progress: { share: 0, objectCount: 0, listRequests: 0 },
    });
    expect(unconfirmed.nextDueAtMs).toBe(stack.nowMs + 10_000);
    const { large, scan, shardLists } = await count();
    expect([large.isInitialScan, large.progress, shardLists]).toEqual([undefined, undefined, 16]);
    expect(scan).toMatchObject({ storedBytes: 600, objectCount: 60 });
  });

  it('is left alone while its count is paused, and no full count waits for a time', async () => {
    await begun(await asNew());
    await stack.ledger.steerScan({ tenant, repo, steeringVersion: 0, pausedAtMs: stack.nowMs });
    const asked = scans(() => ({}));
    const { nextDueAtMs } = await begun({ largeRepos: [await record()] });
    expect([asked.length, nextDueAtMs]).toEqual([0, Number.MAX_SAFE_INTEGER]);
  });
});

it('a count gives up if another has overtaken it when it removes a shard that its parts replace', async () => {
  const { epoch } = (await stack.shards())[7] ?? expect.fail();
  const partOf = { prefix: '7', epoch };
  for (const digit of '0123456789abcdef') {
    const shard = { ...unscannedShard({ prefix: `7${digit}` }, epoch + 1), partOf };
    await stack.ledger.putShard({ tenant, repo, shard, epochRead: null });
  }
  const remove = vi.spyOn(stack.ledger, 'removeShard').mockResolvedValueOnce('superseded');
  await expect(begun()).rejects.toMatchObject({ name: 'SupersededError' });
  expect(remove).toHaveBeenCalledWith({ tenant, repo, prefix: '7', epochRead: epoch });
});

describe('an initial scan', () => {
  beforeEach(async () => {
    await begun(await asNew());
  });
  const page = (after: string, objectCount: number) => ({
    kind: 'unfinished',
    rest: { ranges: [{ after, last: '8' }], objectCount, requests: 1 },
  });
  /** This is the first answer about the shard of the names that begin with 7. @returns what was asked. */
  const sevenIs = (answer: object, then: () => void = () => {}) =>
    scans((input) => {
      const { after, last } = input.resume?.ranges[0] ?? {};
      if (input.requestsMax !== 1 || after !== '7' || last !== '8') return {};
      then();
      return answer;
    });
  const names = (size: number) => ({
    seen: new Map(Array.from({ length: size }, (_, index) => [`${index}`, 1])),
  });

  it.each([
    ['a shard that is too large', page('7800', 30), 31, 32],
    ['one in which more is young than can be told', { recent: 'too many' }, 31, 32],
    ['one of which more names were seen than it can keep', names(countedNamesMax + 1), 31, 32],
    ['none that can keep all that were seen', names(countedNamesMax), 16, 16],
    ['none that is not too large: its scan goes on after the first page', page('7c', 15), 16, 17],
    ['none of whose names the first page tells nothing', page('7', 5), 16, 17],
  ])('splits %s', async (_, answer, shards, requests) => {
    const asked = sevenIs(answer);
    const { count: counted } = await count(awaiting(missing));
    expect(counted.shards).toHaveLength(shards);
    expect(counted.shards.some(({ prefix }) => prefix === '7f')).toBe(shards > 16);
    expect(asked).toHaveLength(requests);
    expect(asked[0]).toMatchObject({ requestsMax: 1, resume: { objectsExpected: null } });
    const further = asked.filter(({ requestsMax }) => requestsMax === undefined);
    expect(further).toMatchObject(requests === 17 ? [{ resume: (answer as { rest: object }).rest }] : []);
    expect(asked.flatMap(({ lookFor = [] }) => [...lookFor])).toEqual([missing]);
  });

  it('leaves a shard for later if its prefix is as long as any', async () => {
    const { epoch } = (await stack.shards())[7] ?? expect.fail();
    await stack.ledger.removeShard({ tenant, repo, prefix: '7', epochRead: epoch });
    const shard = unscannedShard({ prefix: '7777' }, epoch);
    await stack.ledger.putShard({ tenant, repo, shard, epochRead: null });
    scans(({ resume }) => (resume?.ranges[0]?.after === '7777' ? { recent: 'too many' } : {}));
    const { count: counted, nextDueAtMs } = await begun();
    expect(counted.shards).toHaveLength(16);
    expect(nextDueAtMs).toBe(stack.nowMs + 10_000);
  });

  it('asks for no second page of a shard after the deadline', async () => {
    const deadlineMs = stack.nowMs + 5;
    const asked = sevenIs(page('7c', 15), () => {
      stack.nowMs = deadlineMs;
    });
    const { scan } = await begun({ deadlineMs });
    expect(scan).toBeUndefined();
    expect(asked.filter(({ requestsMax }) => requestsMax === undefined)).toEqual([]);
  });

  it('asks for no more pages of a shard at a time than are allowed, and 32 at most', async () => {
    const asked = scans(() => ({}));
    await count();
    expect(asked[0]?.concurrency).toBe(32);
    Object.assign(stack.deps.settings, { scanConcurrency: 8 });
    await count();
    expect(asked.at(-1)?.concurrency).toBe(8);
  });

  it('takes the token of a change of which no record tells what it was', async () => {
    const deadlineMs = stack.nowMs;
    expect((await begun({ deadlineMs })).dirtyTokenTaken).toBeNull();
    await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'somebody' });
    expect((await begun({ deadlineMs })).dirtyTokenTaken).toBe('somebody');
    // The commit of the repo removes it.
    expect((await begun()).dirtyTokenTaken).toBeNull();
  });

  it('gives up if another reconcile has overtaken it', async () => {
    const before = await asNew();
    const name = 'SupersededError';
    vi.spyOn(stack.ledger, 'startLargeRepo').mockResolvedValueOnce('superseded');
    await expect(begun(before)).rejects.toMatchObject({ name });
    const put = vi.spyOn(stack.ledger, 'putShard').mockResolvedValueOnce('superseded');
    await expect(begun(before)).rejects.toMatchObject({ name });
    expect(put).toHaveBeenCalledTimes(1);
  });

  it('of a repo that was never counted makes no count older', async () => {
    stack.nowMs += minute;
    const { scannedAtMs, runs } = await begun({ largeRepos: [unknownRepo('new')] });
    expect([scannedAtMs, runs]).toEqual([stack.nowMs, []]);
  });
});

it('a change of which no record tells is seen by the scans of the same reconcile', async () => {
  stack.nowMs += week;
  await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'somebody' });
  expect(await count()).toMatchObject({ doubtBytes: 0, scannedAtMs: stack.nowMs });
});

describe('a reconcile of all shards', () => {
  it('adds up its LIST requests, and begins anew if it is overtaken', async () => {
    const deadlineMs = stack.nowMs;
    const progress = { beganMs: 5, atMs: 6, share: 0, objectCount: 0, listRequests: 7 };
    const large = { sinceEpoch: (await record()).large?.sinceEpoch ?? 0, rescanFromMs: stack.nowMs + 1 };
    const largeRepos = [{ ...(await record()), large: { ...large, progress } }];
    stack.nowMs += minute;
    const same = await count({ largeRepos, deadlineMs });
    expect(same.large.progress).toMatchObject({ beganMs: 5, listRequests: 7 });
    const overtaken = await count({ largeRepos, deadlineMs, isThorough: true });
    expect(overtaken.large.progress).toMatchObject({ beganMs: stack.nowMs, listRequests: 0 });
  });

  it('says how far it is, and ends when it is given up', async () => {
    await stack.reconcile();
    stack.nowMs += minute;
    await stack.ledger.steerScan({ tenant, repo, steeringVersion: 0, pausedAtMs: stack.nowMs });
    const { large } = await count({ isThorough: true });
    expect(large).toMatchObject({
      rescanFromMs: stack.nowMs,
      progress: { beganMs: stack.nowMs, share: 0, listRequests: 0 },
    });
    const asked = { ...(await record()), large, scanPausedAtMs: undefined };
    const deadlineMs = stack.nowMs;
    const later = await count({ largeRepos: [asked], deadlineMs });
    expect(later.large.progress?.beganMs).toBe(large.progress?.beganMs);
    const givenUp = { ...asked, scanCancelledAtMs: stack.nowMs };
    const after = await count({ largeRepos: [givenUp], deadlineMs });
    expect(after.large).toEqual({ sinceEpoch: large.sinceEpoch, rescanFromMs: 0 });
    const { large: done } = await count({ largeRepos: [asked] });
    expect(done.progress).toBeUndefined();
  });
});

describe('a delete in a large repo', () => {
  /** A delete that has ended, and left a record. */
  const removed = async (
    objects: Record<string, { sizeBytes: number; lastModifiedMs: number | null }>,
    id = 'd',
  ): Promise<Deletion> => {
    const sizes = new Map(Object.entries(objects).map(([name, { sizeBytes }]) => [name, sizeBytes]));
    const deletion = newDeletion({ id, repo, objects: sizes, dueAtMs: stack.nowMs });
    await stack.ledger.putDeletion({ tenant, deletion });
    const runMs = stack.nowMs + minute;
    await stack.ledger.claimDeletion({ tenant, before: deletion, deadlineMs: runMs });
    await stack.ledger.endDeletion({
      tenant,
      repo,
      deletionId: id,
      deadlineMs: runMs,
      left: new Map(),
      dueAtMs: 0,
      keptUntilMs: runMs,
      removal: {
        runMs,
        beganMs: stack.nowMs,
        endedMs: stack.nowMs + 5,
        objects: new Map(Object.entries(objects)),
      },
    });
    return deletion;
  };
  const old = { sizeBytes: 10, lastModifiedMs: 0 };

  beforeEach(() => {
    stack.nowMs += minute;
  });

  it('is in doubt if a batch waits for the object, or a reservation claims it', async () => {
    await removed({ [oidOf(3)]: old });
    expect(await count(awaiting(oidOf(3)))).toMatchObject({ doubtBytes: 10, scannedAtMs: stack.nowMs });
    stack.nowMs += minute;
    const entry = {
      id: 'r',
      repo,
      state: 'issued' as const,
      entries: new Map([[oidOf(3), 10]]),
      createdAtMs: stack.nowMs,
      expiresAtMs: stack.nowMs + minute,
      lapsedAtMs: stack.nowMs + minute,
      lookAtMs: null,
    };
    await stack.ledger.putReservation({ tenant, reservation: entry });
    // What is shown is as old as the doubt.
    expect(await count()).toMatchObject({ doubtBytes: 10, scannedAtMs: stack.nowMs - minute });
  });

  const begin = async (objects: Record<string, number>, state: 'scheduled' | 'deleting') => {
    const named = new Map(Object.entries(objects));
    const deletion = newDeletion({ id: 'other', repo, objects: named, dueAtMs: stack.nowMs - 7 });
    await stack.ledger.putDeletion({ tenant, deletion });
    if (state === 'deleting')
      await stack.ledger.claimDeletion({ tenant, before: deletion, deadlineMs: stack.nowMs + minute });
  };

  it('is in doubt if another delete is about to remove the object, but not if that is only marked', async () => {
    await removed({ [oidOf(3)]: old });
    await begin({ [oidOf(3)]: 10 }, 'scheduled');
    expect(await count()).toMatchObject({ doubtBytes: 0 });
    await stack.ledger.removeDeletion({ tenant, repo, deletionId: 'other', deadlineMs: 0 });
    const [marked] = (await stack.deletions()).filter(({ id }) => id === 'other');
    if (!marked) throw new Error('It is marked.');
    await stack.ledger.claimDeletion({ tenant, before: marked, deadlineMs: stack.nowMs + minute });
    expect(await count()).toMatchObject({ doubtBytes: 20 });
  });

  it('that is under way may have removed all of it, so the confirmed usage goes down, and the count is as old as it', async () => {
    await begin({ [oidOf(3)]: 10, [missing]: 4 }, 'deleting');
    const { scan, doubtBytes, scannedAtMs } = await count();
    expect([doubtBytes, scannedAtMs]).toEqual([14, stack.nowMs - 7]);
    expect([scan.large?.going.has(oidOf(3)), scan.large?.going.has(oidOf(4))]).toEqual([true, false]);
  });

  it('that is under way has its objects unknown, except those that are counted: they were there', async () => {
    await stack.changeShard(missing.slice(0, 1), { counted: new Map([[missing, stack.nowMs]]) });
    await begin({ [oidOf(3)]: 10, [missing]: 4 }, 'deleting');
    const { scan } = await count();
    expect([scan.large?.unknown.has(oidOf(3)), scan.large?.unknown.has(missing)]).toEqual([true, false]);
  });

  it('that is under way makes the count as old as the entry of what it names: it may have arrived by then', async () => {
    await stack.push(repo, { [missing]: 4 });
    const claimedMs = stack.nowMs;
    stack.nowMs += minute;
    await begin({ [missing]: 4 }, 'deleting');
    expect((await count()).scannedAtMs).toBe(claimedMs);
  });

  it('that is under way has its objects asked for by nobody: they may be the old ones', async () => {
    await begin({ [missing]: 4 }, 'deleting');
    const heads = stack.heads;
    const { scan, nextDueAtMs } = await count(awaiting(missing));
    expect(stack.heads).toBe(heads);
    expect(scan.large?.unknown.has(missing)).toBe(true);
    expect(nextDueAtMs).toBe(stack.nowMs + 10_000);
  });
});

describe('a change around the API', () => {
  it('puts all shards in doubt that were scanned before it, since the last count', async () => {
    const scannedBeforeMs = (await record()).scannedAtMs;
    stack.nowMs += minute;
    await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'somebody' });
    const found = await count();
    expect(found).toMatchObject({ doubtBytes: 600, scannedAtMs: scannedBeforeMs });
    expect(found.count.shards[0]?.stale).toMatchObject({ fromMs: scannedBeforeMs, untilMs: stack.nowMs });
  });

  it('is none if a record tells what was removed', async () => {
    stack.nowMs += minute;
    await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'removed-it' });
    expect(await count()).toMatchObject({ doubtBytes: 0, scannedAtMs: stack.nowMs });
  });

  it('is none before a repo became a large repo: its initial scan will see it', async () => {
    await asNew();
    await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'somebody' });
    const { epoch } = await record();
    const outcome = await begun({ largeRepos: [await record()], epoch: epoch + 1 });
    expect(outcome.dirtyTokenTaken).toBe('somebody');
  });
});
