import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  heldUntilMs,
  listDeletions,
  markObject,
  readHolds,
} from '../../../../../lambda/core/ledger/deletes.ts';
import type { Input } from '../../../../../lambda/core/ledger/ledger.ts';
import { newDeletion } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { changeIntent } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { runDeletions } from '../../../../../lambda/core/ledger/run-deletions.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { ScanningDeps } from '../../../../support/memory/counting-deps.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

describe('held until', () => {
  const day = 24 * 60 * minute;

  it('live reservations hold the objects that they claim of those to be deleted, until the last of these is lapsed', async () => {
    const world = new MemoryStack();
    await world.create();
    const read = () => readHolds(world.deps, { tenant, repo: 'app', names: [oidOf(1), oidOf(2), 'note'] });
    expect(await read()).toEqual({ held: new Set(), untilMs: 0, putsUntilMs: 0 });
    const note = changeIntent(world.deps.settings, { id: 'n', repo: 'app', nowMs: world.nowMs });
    await world.ledger.putReservation({ tenant, reservation: note });
    expect(await read()).toEqual({ held: new Set(), untilMs: 0, putsUntilMs: 0 });

    await world.push('app', { [oidOf(1)]: 1, [oidOf(9)]: 1 });
    const lapsedMs = world.nowMs + 36 * minute + 10_001;
    world.nowMs += minute;
    // Claims none of them, so it holds nothing, but its PUTs may end later.
    await world.push('app', { [oidOf(8)]: 1 });
    const putsUntilMs = lapsedMs + minute + day;
    expect(await read()).toEqual({ held: new Set([oidOf(1)]), untilMs: lapsedMs, putsUntilMs });
    world.nowMs = lapsedMs;
    expect((await read()).held.size).toBe(1);
    world.nowMs += 1;
    expect(await read()).toEqual({ held: new Set(), untilMs: 0, putsUntilMs });
  });

  it('what deletes left holds nothing, and is not read, however much there is of it', async () => {
    const world = new MemoryStack();
    await world.create();
    await world.upload('app', { [oidOf(1)]: 10 });
    world.nowMs += 37 * minute;
    await world.consume();
    await world.mark({ [oidOf(1)]: 10 });
    await runDeletions(world.deps, { tenant, untilMs: world.nowMs + minute, deletionCount: 0 });
    expect(await allPages(world.ledger.reservationsOf({ tenant, repo: 'app' }))).toHaveLength(1);
    const reads = vi.spyOn(world.ledger, 'reservationsOf');
    expect(await heldUntilMs(world.deps, { tenant, repo: 'app' })).toBe(0);
    const { held } = await readHolds(world.deps, { tenant, repo: 'app', names: [oidOf(1)] });
    expect(held).toEqual(new Set());
    expect(reads.mock.calls).toEqual(Array(2).fill([{ tenant, repo: 'app', ofUploads: true }]));
  });
});

const hour = 60 * minute;
const [one, two] = [oidOf(1), oidOf(2)];

describe('an object that its store finds damaged', () => {
  const world = new MemoryStack();
  const discarded: string[] = [];
  const store = {
    ...world.deps.store,
    discardDamaged: async (key: string) =>
      discarded.push(key) > 0 && key.endsWith(oidOf(1)) ? 7 : undefined,
  };
  const mark = (oid: string, dryRun = false) =>
    markObject({ ...world.deps, store }, { tenant, repo: 'app', oid, dryRun });

  it('is deleted at once and leaves no mark, which a push would meet', async () => {
    world.put({ [`app/${oidOf(2)}`]: 10 });
    await world.create(100);
    const now = { dueAtMs: world.nowMs, waitsFor: null };
    expect(await mark(oidOf(1))).toEqual({ objectCount: 1, bytes: 7, ...now });
    expect(await world.deletions()).toEqual([]);
    expect(await mark(oidOf(2))).toMatchObject({ bytes: 10, dueAtMs: world.nowMs + hour });
    expect(discarded).toEqual([`${tenant}/app/${oidOf(1)}`, `${tenant}/app/${oidOf(2)}`]);
  });

  it('is left as it is by a dry run', async () => {
    discarded.length = 0;
    await mark(oidOf(1), true);
    expect(discarded).toEqual([]);
  });
});

describe('a deletion in the list', () => {
  let world: MemoryStack;
  const mark = (repo: string, oid: string) => markObject(world.deps, { tenant, repo, oid, dryRun: false });
  const list = async (more: Partial<Input<'listDeletions'>> = {}) =>
    (await listDeletions(world.deps, { tenant, pageSize: 100, ...more })).deletions;

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ [`game/${one}`]: 10, [`game/${two}`]: 20, [`art/${one}`]: 10 });
    await world.create(100);
  });

  it('is marked until it is due, says until when, and is gone with its object', async () => {
    expect(await list()).toEqual([]);
    const dueAtMs = world.nowMs + hour;
    await mark('game', one);
    const marked = { repo: 'game', oid: one, sizeBytes: 10, state: 'scheduled', dueAtMs };
    expect(await list()).toEqual([marked]);
    world.nowMs += hour;
    expect(await list()).toEqual([marked]);
    await world.consume();
    expect(await list()).toEqual([]);
    expect(await world.deletions()).toMatchObject([{ state: 'deleted' }]);
  });

  it('is deleting once somebody deletes it', async () => {
    await mark('game', one);
    await world.entry(await world.deletion());
    expect(await list()).toMatchObject([{ oid: one, state: 'deleting' }]);
  });

  it('is called off by a push that names it', async () => {
    await mark('game', one);
    await mark('game', two);
    await world.push('game', { [one]: 10 });
    expect((await list()).map(({ oid }) => oid)).toEqual([two]);
  });

  it('is not one of a whole repo, nor of a gc run', async () => {
    const watch = { id: 'w', openedAtMs: world.nowMs, untilMs: world.nowMs + hour };
    await world.ledger.openWatch({ tenant, repo: 'game', watch, nowMs: world.nowMs });
    await world.mark({ [one]: 10 }, { id: 'closing', repo: 'game', closedAtMs: 5 });
    await world.mark({ [one]: 10 }, { id: 'gc-1', repo: 'game', sweep: { watchId: 'w', seenFromMs: 1 } });
    expect(await list()).toEqual([]);
  });

  it('is not shown while its repo is deleted, nor once the repo was opened anew: it deletes nothing then', async () => {
    await mark('game', one);
    const deletion = await world.deletion();
    await world.ledger.closeRepo({ tenant, repo: 'game', closedAtMs: world.nowMs });
    expect(await list()).toEqual([]);
    await world.consume();
    world.nowMs += 2 * minute;
    await world.consume();
    await world.ledger.putDeletion({ tenant, deletion: { ...deletion, id: 'late' } });
    expect(await list()).toEqual([]);
    world.put({ [`game/${one}`]: 10 });
    await mark('game', one);
    expect(await list()).toMatchObject([{ repo: 'game', oid: one }]);
  });

  it('stands on one page, of the tenant or of one repo', async () => {
    await mark('game', one);
    await mark('game', two);
    await mark('art', one);
    const first = await listDeletions(world.deps, { tenant, pageSize: 2 });
    expect(first.deletions.map(({ repo }) => repo)).toEqual(['art', 'game']);
    if (!first.next) throw new Error('There is another page.');
    const second = await listDeletions(world.deps, { tenant, pageSize: 2, after: first.next });
    expect([second.deletions.map(({ repo }) => repo), second.next]).toEqual([['game'], null]);
    expect((await list({ repo: 'game' })).map(({ repo }) => repo)).toEqual(['game', 'game']);
    expect(await list({ repo: 'other' })).toEqual([]);
    expect(await list({ repo: 'game', after: first.next })).toEqual(second.deletions);
  });

  it('is listed from the cursor of another repo without that cursor: DynamoDB refuses one beyond the end', async () => {
    await mark('game', one);
    await mark('art', one);
    const asked = vi.spyOn(world.ledger, 'listDeletions');
    const after = { repo: 'art', deletionId: '0' };
    expect((await list({ repo: 'game', after })).map(({ repo }) => repo)).toEqual(['game']);
    expect(asked.mock.calls).toEqual([[{ tenant, repo: 'game', pageSize: 100 }]]);
    asked.mockClear();
    for (const repo of ['zoo', 'game-2'])
      expect(await list({ repo: 'art', after: { ...after, repo } })).toEqual([]);
    expect(asked).not.toHaveBeenCalled();
  });
});

it('a page of deletions takes one query and one read for each repo on it', async () => {
  const counting = new ScanningDeps({ tableMs: 1, headMs: 1, listMs: 1 });
  const { ledger, deps } = counting;
  await ledger.createTenant(newTenant(tenant));
  for (let index = 0; index < 50; index += 1) {
    const objects = new Map([[oidOf(index), 1]]);
    const [id, repo] = [`d${index}`, `repo${index % 5}`];
    const deletion = newDeletion({ id, repo, objects, dueAtMs: 9e15, afterClosingMs: 0 });
    await ledger.putDeletion({ tenant, deletion });
  }
  const { result } = await counting.measure(() => listDeletions(deps, { tenant, pageSize: 20 }));
  expect(result.deletions).toHaveLength(20);
  expect(counting.calls.map(({ name }) => name)).toEqual(['listDeletions', 'readRepo', 'readRepo']);
});

describe('while something is held', () => {
  const day = 24 * 60 * minute;
  let world: MemoryStack;
  const run = () => runDeletions(world.deps, { tenant, untilMs: 9e15, deletionCount: 0 });
  const states = async () => (await world.deletions()).map(({ state }) => state);

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ 'app/a': 1 });
    await world.create();
    await world.mark({ a: 1 }, { id: 'a' });
  });

  it('it is not deleted until that is over', async () => {
    world.holdFor(day);
    expect(await run()).toBe(true);
    expect(await states()).toEqual(['scheduled']);
    world.nowMs += day;
    await run();
    expect(await states()).toEqual(['deleted']);
  });

  it('and others are deleted, what becomes due after that is spared', async () => {
    world.put({ 'app/b': 1, 'app/c': 1 });
    for (const id of ['b', 'c']) await world.mark({ [id]: 1 }, { id, dueAtMs: world.nowMs + minute });
    const claimDeletion = world.ledger.claimDeletion.bind(world.ledger);
    world.ledger.claimDeletion = async (input) => {
      world.nowMs += 30_000;
      world.holdFor(day);
      world.nowMs += minute;
      return claimDeletion(input);
    };
    await run();
    expect(await states()).toEqual(['deleted', 'scheduled', 'scheduled']);
  });

  it('what has begun is ended', async () => {
    world.holdFor(day);
    await world.entry(await world.deletion(), world.nowMs);
    world.nowMs += minute;
    await run();
    expect(await states()).toEqual(['deleted']);
  });
});
