import { beforeEach, describe, expect, it, vi } from 'vitest';
import { keptUntilMs, newDeletion } from '../../../../../lambda/domain/deletion.ts';
import { StoreUnavailableError } from '../../../../../lambda/ports/object-store.ts';
import { allPages } from '../../../../../lambda/use-cases/all-pages.ts';
import { emptyClosedRepos } from '../../../../../lambda/use-cases/deletes/empty-repos.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

describe('the closed repos of a tenant', () => {
  let world: MemoryStack;
  const empty = (forMs = 1000 * minute) =>
    emptyClosedRepos(world.deps, { tenant, untilMs: world.nowMs + forMs });
  const close = async (...repos: string[]) => {
    for (const repo of repos) await world.ledger.closeRepo({ tenant, repo, closedAtMs: world.nowMs });
  };
  const isClosed = async (repo: string) =>
    typeof (await world.ledger.readRepo({ tenant, repo }))?.closedAtMs === 'number';
  const mark = (id: string, ...names: string[]) =>
    world.ledger.putDeletion({
      tenant,
      deletion: newDeletion({
        id,
        repo: 'a',
        objects: new Map(names.map((name) => [name, 1])),
        dueAtMs: world.nowMs + minute,
      }),
    });
  /** Each delete of an object takes so long. */
  const deletesTake = (durationMs: number) => {
    world.beforeDelete = () => {
      world.nowMs += durationMs;
    };
  };

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ 'a/1': 1, 'a/2': 2, 'b/1': 3, 'open/1': 4 });
    await world.create();
  });

  it('are emptied, and no others; there is nothing to do without any', async () => {
    expect(await empty()).toBe('done');
    await close('a', 'b');
    expect(await empty()).toBe('opening');
    expect(await world.keys()).toEqual(['open/1']);
    expect(await isClosed('open')).toBe(false);
  });

  it('keep what the last run of a deletion removed until a reconcile has taken it off', async () => {
    await mark('d', '1', '2');
    const [before] = await world.deletions();
    if (!before) throw new Error('Nothing was marked.');
    const deadlineMs = world.nowMs + minute;
    await world.ledger.claimDeletion({ tenant, before, deadlineMs });
    const objects = new Map([['1', { sizeBytes: 1, lastModifiedMs: 1 }]]);
    const removal = { runMs: deadlineMs, beganMs: world.nowMs, endedMs: world.nowMs, objects };
    const left = new Map([['2', 2]]);
    const ended = { left, dueAtMs: world.nowMs, keptUntilMs: null, removal };
    await world.ledger.endDeletion({ tenant, repo: 'a', deletionId: 'd', deadlineMs, ...ended });
    await close('a');
    const read = await world.deletions();
    await empty();
    expect(await world.deletions()).toEqual(read);
    expect(read).toMatchObject([{ removal }]);
  });

  it('are opened once every batch from before their closing must have ended, and that is logged', async () => {
    const info = vi.spyOn(world.deps.log, 'info');
    await close('a');
    await empty();
    world.nowMs += world.deps.settings.pendingVoidAfterMs;
    expect([await empty(), await isClosed('a')]).toEqual(['opening', true]);
    world.nowMs += 1;
    expect([await empty(), await isClosed('a')]).toEqual(['done', false]);
    expect(info).toHaveBeenCalledWith('repo emptied', { tenant, repo: 'a' });
    info.mockRestore();
  });

  it('stay closed until no listing of before tells a batch what was in them', async () => {
    const settings = { ...world.deps.settings, pendingVoidAfterMs: 1 };
    const emptyThen = () => emptyClosedRepos({ ...world.deps, settings }, { tenant, untilMs: 9e15 });
    await close('a');
    await emptyThen();
    world.nowMs = keptUntilMs(settings, world.nowMs);
    expect([await emptyThen(), await isClosed('a')]).toEqual(['opening', true]);
    world.nowMs += 1;
    expect([await emptyThen(), await isClosed('a')]).toEqual(['done', false]);
  });

  it('are neither public nor mapped when they are opened, whoever said so meanwhile', async () => {
    const { publicReads, mappedRepos } = world.deps;
    await close('a');
    await empty();
    const path = { tenant, repo: 'a' };
    await publicReads.put({ tenant, mark: { repo: 'a', monthlyLimitBytes: 1, sinceMs: world.nowMs } });
    const mapped = { repo: 'a', host: 'github', name: 'acme/a', hostedId: null, sinceMs: world.nowMs };
    await mappedRepos.put({ tenant, mark: mapped });
    world.nowMs += world.deps.settings.pendingVoidAfterMs + 1;
    expect([await empty(), await isClosed('a')]).toEqual(['done', false]);
    expect(await publicReads.find(path)).toBeUndefined();
    expect(await mappedRepos.find(path)).toBeUndefined();
  });

  describe('of which a deletion is written once more after the repo was opened', () => {
    const late = async () => {
      const writes = vi.spyOn(world.ledger, 'putDeletion');
      await close('a');
      world.nowMs += world.deps.settings.pendingVoidAfterMs + 1;
      await empty();
      const [first] = writes.mock.calls;
      writes.mockRestore();
      if (!first) throw new Error('Nothing was deleted.');
      world.put({ 'a/1': 1, 'a/2': 2 });
      return first[0];
    };
    const deletionsOf = () => allPages(world.ledger.deletionsOf({ tenant, repo: 'a' }));

    it('keep what was pushed since', async () => {
      const again = await late();
      await world.ledger.putDeletion(again);
      expect(await isClosed('a')).toBe(false);
      await world.consume();
      expect(await world.keys()).toEqual(['a/1', 'a/2', 'b/1', 'open/1']);
      expect(await deletionsOf()).toEqual([]);
    });

    it('keep it if the repo is closed again, until that closing is at work', async () => {
      const again = await late();
      await world.ledger.putDeletion(again);
      world.nowMs += 1;
      await close('a');
      await empty();
      expect(await world.keys()).toEqual(['b/1', 'open/1']);
      expect(await deletionsOf()).toEqual([]);
    });

    it('keep it if somebody had begun the deletion that came back', async () => {
      const again = await late();
      await world.ledger.putDeletion(again);
      const { deletion: before } = again;
      await world.ledger.claimDeletion({ tenant, before, deadlineMs: world.nowMs });
      world.nowMs += minute;
      await world.consume();
      expect(await world.keys()).toEqual(['a/1', 'a/2', 'b/1', 'open/1']);
      // Who began it may have deleted something.
      expect(await deletionsOf()).toMatchObject([{ state: 'gone' }]);
      expect(await world.usage()).toMatchObject({ storedBytes: 10 });
    });
  });

  it('are continued with until the time is up: the first one in any case, and the next up to the last moment', async () => {
    await close('a', 'b');
    deletesTake(500);
    expect(await empty(999)).toBe('unfinished');
    expect(await world.keys()).toEqual(['b/1', 'open/1']);
    world.put({ 'a/1': 1, 'a/2': 2 });
    expect(await empty(1000)).toBe('unfinished');
    expect(await world.keys()).toEqual(['open/1']);
    world.put({ 'a/1': 1 });
    expect(await empty(-1)).toBe('unfinished');
    expect(await world.keys()).toEqual(['open/1']);
  });

  it('are left for later if the time is up, though nothing had to be deleted before', async () => {
    await world.objects.delete([`${tenant}/a/1`]);
    await world.objects.delete([`${tenant}/a/2`]);
    await close('a', 'b');
    expect(await empty(-1)).toBe('unfinished');
    expect(await world.keys()).toEqual(['b/1', 'open/1']);
  });

  it('stay closed if a deletion of theirs is refused, or a reservation holds what is listed', async () => {
    await close('b');
    const claim = vi.spyOn(world.ledger, 'claimDeletion').mockResolvedValue({ kind: 'refused' });
    expect(await empty()).toBe('done');
    claim.mockRestore();
    await world.push('a', { [oidOf(1)]: 5 });
    world.put({ [`a/${oidOf(1)}`]: 5 });
    await world.ledger.openRepo({ tenant, repo: 'b', closedAtMs: world.nowMs });
    await close('a');
    expect(await empty()).toBe('done');
  });

  it('wait after a delete that the store did not answer: the next repo would leave another note', async () => {
    await close('a', 'b');
    world.beforeDelete = () => {
      throw new StoreUnavailableError('No answer.');
    };
    expect(await empty()).toBe('done');
    expect((await world.record()).notes.size).toBe(1);
    expect(await world.deletions()).toMatchObject([{ repo: 'a', state: 'deleting' }]);
    // So it is with an object that was marked before.
    world = new MemoryStack();
    world.put({ 'a/1': 1, 'a/2': 2, 'b/1': 3 });
    await world.create();
    await mark('d', '1');
    await close('a', 'b');
    world.beforeDelete = () => {
      throw new StoreUnavailableError('No answer.');
    };
    expect(await empty()).toBe('done');
    expect((await world.record()).notes.size).toBe(1);
  });

  describe('of a tenant with very many claims', () => {
    const [one, two] = [oidOf(1), oidOf(2)];
    beforeEach(async () => {
      world = new MemoryStack({ lateClaimsMax: 0 });
      await world.create();
      await world.push('a', { [oidOf(9)]: 1 });
      world.nowMs += 37 * minute;
      await world.consume();
      // A PUT may bring back what has been there for less than a day.
      world.put({ [`a/${one}`]: 1, [`a/${two}`]: 1 });
    });

    it('wait with all that is marked once some of it has to wait', async () => {
      await mark('d1', one);
      await mark('d2', two);
      await close('a');
      const claim = vi.spyOn(world.ledger, 'claimDeletion');
      expect(await empty()).toBe('done');
      expect(claim).toHaveBeenCalledTimes(1);
      expect(await world.keys()).toHaveLength(2);
    });

    it('wait with what is listed, and are not about to be opened', async () => {
      await close('a');
      expect(await empty()).toBe('done');
      expect(await world.keys()).toHaveLength(2);
    });
  });

  it('have one deletion if the store deletes nothing of them, and others are emptied beside them', async () => {
    world = new MemoryStack();
    const names = Array.from({ length: 4500 }, (_, index) => [`a/${index}`, 1]);
    world.put({ ...Object.fromEntries(names), 'b/1': 3 });
    await world.create();
    for (const repo of ['a', 'b']) await world.ledger.closeRepo({ tenant, repo, closedAtMs: world.nowMs });
    let isLocked = true;
    world.beforeDelete = (key) => {
      if (isLocked && key.startsWith(`${tenant}/a/`)) throw new StoreUnavailableError('Access denied.');
    };
    for (let runs = 0; runs < 4; runs += 1) {
      await world.consume();
      world.nowMs += 2 * minute;
    }
    expect((await world.deletions()).filter(({ repo }) => repo === 'a')).toHaveLength(1);
    expect((await world.keys()).filter((key) => key.startsWith('b'))).toEqual([]);
    isLocked = false;
    await world.consume();
    expect(await world.keys()).toEqual([]);
  });

  it('lose marked objects first, without their grace time, and stop between two deletions when the time is up', async () => {
    await mark('d1', '1');
    await mark('d2', '2');
    await close('a');
    deletesTake(500);
    expect(await empty(499)).toBe('unfinished');
    expect(await world.keys()).toEqual(['a/2', 'b/1', 'open/1']);
    expect(await empty(500)).toBe('opening');
    expect(await world.keys()).toEqual(['b/1', 'open/1']);
  });

  it('are emptied though another one cannot be listed, which is told at the end', async () => {
    await close('a', 'b');
    const { listing } = world.deps;
    const listPage: typeof listing.listPage = async (request) => {
      if (request.prefix === `${tenant}/a/`) throw new StoreUnavailableError('Access denied.');
      return listing.listPage(request);
    };
    const { log, entries } = recordingLog();
    const deps = { ...world.deps, log, listing: { ...listing, listPage } };
    await expect(emptyClosedRepos(deps, { tenant, untilMs: 9e15 })).rejects.toThrow('Access denied.');
    expect(await world.keys()).toEqual(['a/1', 'a/2', 'open/1']);
    expect(entries.filter(({ level }) => level === 'warn')).toMatchObject([{ fields: { repo: 'a' } }]);
  });

  it('are left for later if the time is up before all their locks are removed', async () => {
    await close('a', 'b');
    await empty();
    world.nowMs += world.deps.settings.pendingVoidAfterMs + 1;
    const release = vi.spyOn(world.deps.locks, 'releaseSome').mockImplementation(async () => {
      world.nowMs += 2;
      return { count: 1, hasMore: true };
    });
    expect(await empty(1)).toBe('unfinished');
    expect(release).toHaveBeenCalledTimes(1);
    expect([await isClosed('a'), await isClosed('b')]).toEqual([true, true]);
    release.mockRestore();
    expect(await empty()).toBe('done');
    expect([await isClosed('a'), await isClosed('b')]).toEqual([false, false]);
  });

  it('stay closed while somebody else deletes some of their objects, which are left to them', async () => {
    await mark('d1', '1');
    const [before] = await world.deletions();
    if (!before) throw new Error('It is marked.');
    await world.ledger.claimDeletion({ tenant, before, deadlineMs: world.nowMs + minute });
    await close('a', 'b');
    expect(await empty()).toBe('opening');
    expect(await world.keys()).toEqual(['a/1', 'open/1']);
    world.nowMs += world.deps.settings.pendingVoidAfterMs + 1;
    const put = vi.spyOn(world.ledger, 'putDeletion');
    expect(await empty()).toBe('done');
    expect(put).not.toHaveBeenCalled();
    expect([await isClosed('a'), await isClosed('b')]).toEqual([true, false]);
    expect(await world.keys()).toEqual(['a/1', 'open/1']);
  });

  it('keep what a live reservation holds, marked or not, and try that once in a run', async () => {
    const [held, alsoHeld] = [oidOf(1), oidOf(2)];
    await world.push('a', { [held]: 5, [alsoHeld]: 6 });
    world.put({ [`a/${held}`]: 5, [`a/${alsoHeld}`]: 6 });
    await mark('d1', held, '1');
    await close('a');
    const [claim, put] = [vi.spyOn(world.ledger, 'claimDeletion'), vi.spyOn(world.ledger, 'putDeletion')];
    expect(await empty()).toBe('done');
    expect(claim).toHaveBeenCalledTimes(2);
    expect(put.mock.calls.map(([{ deletion }]) => [...deletion.objects.keys()].sort())).toEqual([
      [alsoHeld, '2'].sort(),
    ]);
    expect(await world.keys()).toEqual([`a/${held}`, `a/${alsoHeld}`, 'b/1', 'open/1'].sort());
    world.nowMs += 40 * minute;
    expect(await empty()).toBe('done');
    expect([await world.keys(), await isClosed('a')]).toEqual([['b/1', 'open/1'], false]);
  });
});
