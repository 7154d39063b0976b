import { beforeEach, describe, expect, it, vi } from 'vitest';
import { keepFromDeletion } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { deleteRepo } from '../../../../../lambda/core/ledger/deletes.ts';
import type { Ledger } from '../../../../../lambda/core/ledger/ledger.ts';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { type Deletion, keptUntilMs } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { storedAgainUntilMs } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import {
  expectedOnceMore,
  findYoung,
  runDeletion,
  runDeletions,
} from '../../../../../lambda/core/ledger/run-deletions.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { prefixText } from '../../../../../lambda/core/rules/prefix-set.ts';
import { type StoredObject, StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { reservation } from '../../../../support/ledger-records.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
/** A reservation of small objects is lapsed then, by every clock. */
const deathMs = 37 * minute;

/** The ledger of a function that is held up before each of its calls. */
function observed(ledger: Ledger, before: (name: string) => Promise<void>): Ledger {
  async function* pages<T>(name: string, read: () => AsyncIterable<T>): AsyncIterable<T> {
    await before(name);
    for await (const page of read()) yield page;
  }
  return new Proxy(ledger, {
    get(target, name: keyof Ledger) {
      const method = target[name].bind(target) as (input: unknown) => unknown;
      if (name === 'deletions' || name === 'reservationsOf')
        return (input: unknown) => pages(name, () => method(input) as AsyncIterable<unknown>);
      return async (input: unknown) => {
        await before(name);
        return method(input);
      };
    },
  });
}

describe('deleted objects that a second PUT may bring back', () => {
  let world: MemoryStack;

  const deleteApp = async (repo = 'app') => {
    await deleteRepo(world.deps, { tenant, repo, dryRun: false });
    await world.consume();
  };
  const runDue = (deps = world.deps) =>
    runDeletions(deps, { tenant, untilMs: world.nowMs + minute, deletionCount: 0 });
  /** Uploads an object, has it counted, and deletes its repo after this time, when the reservation is lapsed. */
  const uploadAndDelete = async (afterMs: number) => {
    await world.upload('app', { [oidOf(1)]: 900 });
    await world.consume();
    await world.pass(afterMs);
    await deleteApp();
  };

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
  });

  it('never bring more than twice the limit, in however many rounds they are sent twice and deleted', async () => {
    const slow: Record<string, number> = {};
    let admitted = 0;
    for (let round = 0; round < 20; round += 1) {
      const repo = `repo${round}`;
      if ((await world.kinds(repo, { [oidOf(round)]: 1000 })) === 'upload') {
        admitted += 1;
        world.put({ [`${repo}/${oidOf(round)}`]: 1000 });
        await world.consume();
        // A second PUT of the same URL has begun.
        slow[`${repo}/${oidOf(round)}`] = 1000;
      }
      world.nowMs += deathMs;
      await world.runSchedule();
      expect(world.reservations.every(({ lookAtMs }) => lookAtMs !== null)).toBe(true);
      await deleteApp(repo);
      expect(await world.keys()).toEqual([]);
    }
    expect(admitted).toBe(2);
    world.put(slow);
    await world.pass(26 * hour);
    expect(await world.usage()).toEqual({ committedBytes: 2000, storedBytes: 2000 });
  });

  it('are not expected if they were uploaded more than a day before they are deleted', async () => {
    for (const round of [1, 2, 3]) {
      await world.upload('app', { [oidOf(round)]: 1000 });
      await world.consume();
      await world.pass(25 * hour);
      await deleteApp();
      expect(world.reservations).toEqual([]);
      // The repo is open again: what is pushed before goes with it, so it's young.
      await world.pass(hour);
      expect((await world.repo('app'))?.closedAtMs).toBeFalsy();
    }
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
  });

  it('are not expected if they were not uploaded by the API, or have a name that no URL can have', async () => {
    await world.push('app', { [oidOf(1)]: 10 });
    world.put({ [`app/${oidOf(1)}`]: 10, 'app/notes.txt': 500, [`other/${oidOf(2)}`]: 500 });
    await world.consume({ full: true });
    world.nowMs += deathMs;
    await world.runSchedule();
    for (const repo of ['app', 'other']) await deleteApp(repo);
    expect(world.reservations).toMatchObject([{ repo: 'app', entries: new Map([[oidOf(1), 10]]) }]);
  });

  it('are looked for once, at the end of their day, and then forgotten', async () => {
    await uploadAndDelete(hour);
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
    const hours = await world.pass(30 * hour);
    expect(hours.at(-1)).toBeGreaterThan(23);
    expect(hours.length).toBeLessThanOrEqual(3);
    expect(world.reservations).toEqual([]);
  });

  it('are counted once when they come back, whichever scan finds them', async () => {
    await uploadAndDelete(hour);
    // The repo is open again, and the scan that comes before the look finds what arrived.
    await world.pass(hour);
    world.put({ [`app/${oidOf(1)}`]: 900 });
    await world.consume({ full: true });
    expect(await world.usage()).toEqual({ committedBytes: 900, storedBytes: 900 });
    expect(world.reservations).toEqual([]);
  });

  it('are expected for as long as a reservation of the repo says, dead or alive', async () => {
    await world.push('app', { [oidOf(1)]: 10 });
    const lapsedMs = Math.max(...world.reservations.map(({ lapsedAtMs }) => lapsedAtMs));
    world.put({ [`app/${oidOf(1)}`]: 10 });
    world.nowMs = lapsedMs + 20_000;
    // No scan has seen the reservation yet.
    await world.mark({ [oidOf(1)]: 10 });
    await runDue();
    const unconfirmed = world.reservations.find(({ deletedByMs }) => deletedByMs !== undefined);
    expect(unconfirmed).toMatchObject({
      entries: new Map([[oidOf(1), 10]]),
      lapsedAtMs: lapsedMs,
      // The delete may take a minute, by either clock.
      deletedByMs: world.nowMs + minute + 10_000,
    });
  });

  it('are expected if a reconcile settles their reservation meanwhile, whatever the delete has read by then', async () => {
    const callsOfDelete: string[] = [];
    for (let before = 0; before === 0 || before < callsOfDelete.length; before += 1) {
      world = new MemoryStack();
      await world.create(1000);
      await world.upload('app', { [oidOf(1)]: 900 });
      await world.mark({ [oidOf(1)]: 900 });
      // Dead, and still the only sign of its URLs.
      world.nowMs += deathMs;
      callsOfDelete.length = 0;
      const ledger = observed(world.ledger, async (name) => {
        callsOfDelete.push(name);
        if (callsOfDelete.length === before + 1) await reconcile(world.deps, { tenant, full: false });
      });
      await runDue({ ...world.deps, ledger });
      const unconfirmed = world.reservations.filter(({ deletedByMs }) => deletedByMs);
      expect(unconfirmed, `settled before ${callsOfDelete[before]}`).toMatchObject([
        { repo: 'app', entries: new Map([[oidOf(1), 900]]) },
      ]);
    }
    expect(callsOfDelete).toEqual(expect.arrayContaining(['reservationsOf', 'readRepo']));
  });

  it('are still expected after scans that found no reservation', async () => {
    await world.upload('app', { [oidOf(1)]: 900 });
    await world.consume();
    world.nowMs += deathMs;
    await world.consume({ full: true });
    world.put({ [`app/${oidOf(2)}`]: 1 });
    await world.consume({ full: true });
    await deleteApp();
    expect(world.reservations).toMatchObject([{ repo: 'app' }]);
  });

  describe('of a tenant with very many entries', () => {
    it('wait, and are gone as soon as nothing can store them again', async () => {
      world = new MemoryStack({ unconfirmedEntriesMax: 1500 });
      await world.create(1e9);
      const objects = Array.from({ length: 2000 }, (_, index) => [`app/${oidOf(index)}`, 1]);
      world.put(Object.fromEntries(objects));
      await world.push('app', { [oidOf(2000)]: 1 });
      world.nowMs += deathMs;
      await world.consume({ full: true });
      await deleteApp();
      expect(await world.keys()).toHaveLength(1000);
      expect((await world.record()).entryCount).toBeLessThanOrEqual(1500);
      expect(await world.deletions()).toMatchObject([{ state: 'scheduled' }]);
      const heads = vi.spyOn(world.deps.store, 'head');
      await world.pass(3 * hour);
      // Once an hour, however often the tenant is reconciled.
      expect(heads).toHaveBeenCalledTimes(3 * 1000);
      heads.mockRestore();
      expect(await world.keys()).toHaveLength(1000);
      await world.pass(22 * hour);
      expect(await world.keys()).toEqual([]);
      await world.pass(3 * hour);
      expect(world.reservations).toEqual([]);
    });

    it('go at once if they have been there for so long that no PUT can store them again', async () => {
      world = new MemoryStack({ unconfirmedEntriesMax: 0 });
      await world.create(1000);
      const put = (index: number, sizeBytes: number) =>
        world.objects.put(`${tenant}/app/${oidOf(index)}`, sizeBytes, undefined, world.nowMs);
      put(1, 5);
      // Two days, and twice the time from a URL to the death of its reservation.
      world.nowMs += 48 * hour + 2 * deathMs + minute;
      put(2, 6);
      await world.push('app', { [oidOf(3)]: 1 });
      world.nowMs += deathMs;
      await world.consume();
      const heads = vi.spyOn(world.deps.store, 'head');
      await world.mark({ [oidOf(1)]: 5, [oidOf(2)]: 6 });
      await runDue();
      expect(heads).toHaveBeenCalledTimes(2);
      expect(await world.keys()).toEqual([`app/${oidOf(2)}`]);
      const [left] = await world.deletions();
      expect(left).toMatchObject({ state: 'scheduled', objects: new Map([[oidOf(2), 6]]) });
      expect(left?.dueAtMs).toBe(world.nowMs + hour);
    });

    describe('of which one is young', () => {
      let deletion: Deletion;
      beforeEach(async () => {
        world = new MemoryStack({ unconfirmedEntriesMax: 0 });
        await world.create(1000);
        world.put({ [`app/${oidOf(1)}`]: 5 });
        await world.push('app', { [oidOf(3)]: 1 });
        world.nowMs += deathMs;
        await world.consume();
        deletion = await world.mark({ [oidOf(1)]: 5 });
      });

      it('go on if a run has begun: it has expected some of them', async () => {
        await world.entry(deletion, world.nowMs);
        world.nowMs += minute;
        await runDue();
        expect(await world.keys()).toEqual([]);
        expect(world.reservations.filter(({ deletedByMs }) => deletedByMs)).toHaveLength(1);
      });

      it('stay if the store does not say how old they are', async () => {
        const head = vi.spyOn(world.deps.store, 'head').mockRejectedValue(new StoreUnavailableError('503'));
        const run = await runDeletion(world.deps, { tenant, deletion, isClosed: false });
        head.mockRestore();
        expect(run).toEqual({ kind: 'unanswered' });
        expect(await world.keys()).toEqual([`app/${oidOf(1)}`]);
        expect(await world.deletions()).toMatchObject([{ state: 'deleting' }]);
      });
    });
  });

  it('leave the tenant admitted or refused at the end of their day, never deferred', async () => {
    const kinds: string[] = [];
    // Two rounds of upload and delete in a day: 2000 bytes late, 1000 beyond the limit.
    for (const round of [1, 2]) {
      await world.upload(`repo${round}`, { [oidOf(round)]: 1000 });
      await world.consume();
      world.nowMs += deathMs;
      await world.runSchedule();
      await deleteApp(`repo${round}`);
    }
    for (let time = 0; time < (27 * hour) / (5 * minute) && kinds.at(-1) !== 'upload'; time += 1) {
      world.nowMs += 5 * minute;
      if (time % 3 === 0) await world.runSchedule();
      const kind = await world.kinds('last', { [oidOf(99)]: 500 });
      if (kinds.at(-1) !== kind) kinds.push(kind);
    }
    expect(kinds).toEqual(['over-limit', 'upload']);
  });

  describe('within the day of the last reservation of their repo', () => {
    const expected = (objects: Record<string, number>, putsUntilMs: number) =>
      expectedOnceMore(world.deps, {
        tenant,
        repo: 'app',
        objects: new Map(Object.entries(objects)),
        putsUntilMs,
        deadlineMs: world.nowMs + minute,
      });

    it('are expected to its last moment, and not after it', async () => {
      expect(await expected({ [oidOf(1)]: 5 }, world.nowMs)).toMatchObject({ unconfirmed: { repo: 'app' } });
      expect(await expected({ [oidOf(1)]: 5 }, world.nowMs - 1)).toBeUndefined();
      expect(await expected({ 'note.txt': 5 }, world.nowMs)).toBeUndefined();
    });

    it('are too many beyond the bound on claims', async () => {
      world = new MemoryStack({ unconfirmedEntriesMax: 3 });
      await world.create(1000);
      const two = { [oidOf(1)]: 5, [oidOf(2)]: 6 };
      const entries = new Map(Object.entries(two));
      expect(await expected(two, world.nowMs)).toMatchObject({ unconfirmed: { entries }, tooMany: false });
      expect(await expected({ ...two, [oidOf(3)]: 7 }, world.nowMs)).toMatchObject({ tooMany: true });
    });
  });
});

describe('which objects may be stored once more', () => {
  const find = (head: () => Promise<StoredObject | undefined>, ...names: string[]) => {
    const world = new MemoryStack();
    return findYoung({ ...world.deps, store: { ...world.deps.store, head } }, { tenant, repo: 'app', names });
  };

  it('is none that is gone, and the store is asked for objects alone', async () => {
    const head = vi.fn(async () => undefined);
    expect(await find(head, oidOf(1), 'notes.txt')).toEqual(new Set());
    expect(head).toHaveBeenCalledTimes(1);
  });

  it('is each until the last PUT has ended that may bring it back, that moment included', async () => {
    const { deps, nowMs } = new MemoryStack();
    const lifeMs = storedAgainUntilMs(deps.settings, { sizeBytes: 5, lastModifiedMs: 0 });
    const youngOf = (lastModifiedMs: number) =>
      find(async () => ({ sizeBytes: 5, sha256: undefined, lastModifiedMs }), oidOf(1));
    expect(await youngOf(nowMs - lifeMs)).toEqual(new Set([oidOf(1)]));
    expect(await youngOf(nowMs - lifeMs - 1)).toEqual(new Set());
  });

  it('is unknown if the store is unavailable, and any other error ends the run', async () => {
    const failing = (error: Error) => () => Promise.reject(error);
    expect(await find(failing(new StoreUnavailableError('503')), oidOf(1))).toBeUndefined();
    await expect(find(failing(new TypeError('a mistake')), oidOf(1))).rejects.toThrow('a mistake');
  });
});

const repo = 'app';
const [a, b] = [sha256Hex('a'), sha256Hex('b')];

describe('a deletion of a gc run', () => {
  let world: MemoryStack;
  const watchOf = (id: string) => ({ id, openedAtMs: world.nowMs, untilMs: world.nowMs + 60 * minute });
  const open = (id = 'w') => world.ledger.openWatch({ tenant, repo, watch: watchOf(id), nowMs: world.nowMs });
  const named = (oid: string, beganMs: number, watchId = 'w') =>
    world.ledger.noteSeen({
      tenant,
      watch: watchOf(watchId),
      intentId: `n${beganMs}`,
      note: { beganMs, prefixes: prefixText([oid]) },
    });
  const both = { [a]: 1, [b]: 2 };
  const mark = (objects: Record<string, number>, { watchId = 'w', seenFromMs = 1000 } = {}) =>
    world.mark(objects, { sweep: { watchId, seenFromMs } });
  const runIt = (deletion: Deletion, isClosed = false) =>
    runDeletion(world.deps, { tenant, deletion, isClosed });
  const run = async (isClosed = false) => runIt(await mark(both), isClosed);
  /** A run that deleted one object, and died. */
  const runAndDie = async () => {
    const begun = await world.entry(await mark({ [a]: 1 }), world.nowMs);
    await world.objects.delete([`${tenant}/${repo}/${a}`]);
    world.nowMs += minute;
    return begun;
  };

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ [`${repo}/${a}`]: 1, [`${repo}/${b}`]: 2 });
    await world.create();
  });

  it('deletes what nobody has named since', async () => {
    await open();
    await named(a, 1000);
    await named(b, 999);
    expect(await run()).toEqual({ kind: 'ended', heldCount: 0, isWaiting: false, gone: new Map([[b, 2]]) });
    expect(await world.keys()).toEqual([`${repo}/${a}`]);
    expect(await world.ledger.goneOf({ tenant, repo, oids: [a, b] })).toEqual(
      new Map([[b, { atMs: world.nowMs }]]),
    );
  });

  it.each([
    ['by prefixes', true],
    ['by names, if an older version opened the watch', undefined],
  ])('records what is gone %s', async (_, hasPrefixes) => {
    const watch = { ...watchOf('w'), hasPrefixes };
    await world.ledger.openWatch({ tenant, repo, watch, nowMs: world.nowMs });
    await run();
    const names = new Map(Object.entries(both));
    const [gone] = await world.deletions();
    expect(gone).toMatchObject({ state: 'deleted', objects: hasPrefixes ? new Map() : names });
    expect(gone?.prefixes).toBe(hasPrefixes && prefixText([a, b]));
    // A batch that was told before that they are stored.
    const asked = { tenant, repo, names, stored: new Map([[b, 2]]), deletionCount: 0 };
    expect(await keepFromDeletion(world.deps, asked)).toBe('deleting');
  });

  it.each([
    ['was named since', true],
    // Marked again, it would tell no batch of what went beside it.
    ['was not: that is left to the next gc run', false],
  ])('is done though a reservation holds some of it that %s', async (_, isNamed) => {
    await open();
    if (isNamed) await named(a, 1000);
    const held = reservation('r', { state: 'issued', entries: new Map([[a, 1]]), lapsedAtMs: 9e15 });
    await world.ledger.putReservation({ tenant, reservation: held });
    expect(await run()).toMatchObject({ kind: 'ended', heldCount: isNamed ? 0 : 1, gone: new Map([[b, 2]]) });
    expect(await world.keys()).toEqual([`${repo}/${a}`]);
    expect(await world.deletions()).toMatchObject([{ state: 'deleted' }]);
  });

  it('does not count what was named in another watch', async () => {
    await open();
    await named(a, 1000, 'other');
    await run();
    expect(await world.keys()).toEqual([]);
  });

  it.each([
    ['there is no watch', async () => undefined],
    ['another watch is open', () => open('other')],
  ])('is void if %s', async (_, prepare) => {
    await prepare();
    const info = vi.spyOn(world.deps.log, 'info');
    expect(await run()).toEqual({ kind: 'ended', heldCount: 0, isWaiting: false, gone: undefined });
    expect(await world.keys()).toHaveLength(2);
    expect(await world.deletions()).toEqual([]);
    const message = 'deletion is dropped: its repo was opened since, or its gc run has ended';
    expect(info.mock.calls).toEqual([[message, { tenant, repo }]]);
    info.mockRestore();
  });

  it('leaves a record if it is void, but an earlier run may have deleted something', async () => {
    await runIt(await runAndDie());
    const deadlineMs = keptUntilMs(world.deps.settings, world.nowMs);
    expect(await world.deletions()).toMatchObject([{ state: 'deleted', deadlineMs }]);
  });

  it('is void shortly before the watch ends', async () => {
    await open();
    world.nowMs += 60 * minute - 2 * world.deps.settings.clockSkewMs;
    await run();
    expect(await world.keys()).toHaveLength(2);
  });

  it('deletes all if its repo is being deleted', async () => {
    await open();
    await named(a, 1000);
    await run(true);
    expect(await world.keys()).toEqual([]);
  });

  it('has its repo scanned if an earlier run may have deleted what is spared now', async () => {
    await open();
    const begun = await runAndDie();
    await named(a, 2000);
    await runIt(begun);
    expect((await world.repo(repo))?.dirtyToken).not.toBeNull();
    await world.consume();
    expect((await world.usage()).storedBytes).toBe(2);
  });

  it('notes what goes before it goes, also if it is none of a gc run', async () => {
    const beganMs = world.nowMs;
    world.beforeDelete = () => {
      throw new Error('The run dies.');
    };
    await expect(runIt(await world.mark({ [a]: 1 }))).rejects.toThrow('The run dies.');
    expect(await world.ledger.goneOf({ tenant, repo, oids: [a] })).toEqual(new Map([[a, { atMs: beganMs }]]));
  });
});
