import { beforeEach, describe, expect, it, vi } from 'vitest';
import { prefixText } from '../../../../../lambda/domain/cleanup/prefixes.ts';
import { type Deletion, deleteRunMs, newDeletion } from '../../../../../lambda/domain/deletion.ts';
import { isChangeUnknown } from '../../../../../lambda/domain/tenant.ts';
import { StoreUnavailableError } from '../../../../../lambda/ports/object-store.ts';
import { expectedOnceMore } from '../../../../../lambda/use-cases/deletes/expect-once-more.ts';
import { runDeletion, runDeletions } from '../../../../../lambda/use-cases/deletes/run-deletions.ts';
import { type GiantStack, giantStack, oidOf, repo } from '../../../../support/memory/giant-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';
import { updateTenant } from '../../../../support/over-settings.ts';

const day = 24 * 60 * minute;
const ordinary = 'small';

let stack: GiantStack;
let storedAtMs: number;

beforeEach(async () => {
  stack = await giantStack();
  storedAtMs = stack.nowMs - day;
});

/** Objects that are to be deleted now: name → bytes as the deletion says. */
async function mark(objects: Record<string, number>, where = repo, id = 'd'): Promise<Deletion> {
  const named = new Map(Object.entries(objects));
  const deletion = newDeletion({ id, repo: where, objects: named, dueAtMs: stack.nowMs });
  await stack.ledger.putDeletion({ tenant, deletion });
  return deletion;
}

async function run(deletion: Deletion, isClosed = false): Promise<Deletion | undefined> {
  expect(await runDeletion(stack.deps, { tenant, deletion, isClosed })).toMatchObject({ kind: 'ended' });
  return (await stack.deletions())[0];
}

/** A live reservation claims these. */
async function hold(...names: string[]): Promise<void> {
  const times = { createdAtMs: stack.nowMs, expiresAtMs: stack.nowMs + day, deadAtMs: stack.nowMs + day };
  const claims = new Map(names.map((name) => [name, 10]));
  const reservation = { id: 'r', repo, state: 'issued' as const, claims, ...times, lookAtMs: null };
  await stack.ledger.putReservation({ tenant, reservation });
}

const isUnknown = async (where = repo) => {
  const record = await stack.ledger.readRepo({ tenant, repo: where });
  if (!record) throw new Error('The repo is not there.');
  return isChangeUnknown(record);
};

describe('a delete in a giant', () => {
  it('leaves a record of when it ran, and of what the store said of each object right before', async () => {
    const deletion = await mark({ [oidOf(3)]: 1, [oidOf(70)]: 7 });
    stack.beforeDelete = () => {
      stack.nowMs += 5;
    };
    const beganMs = stack.nowMs;
    expect((await run(deletion))?.removal).toEqual({
      runMs: beganMs + deleteRunMs,
      beganMs,
      endedMs: beganMs + 10,
      objects: new Map([
        [oidOf(3), { sizeBytes: 10, lastModifiedMs: storedAtMs }],
        // It was not there.
        [oidOf(70), { sizeBytes: 7, lastModifiedMs: null }],
      ]),
    });
  });

  it('marks the repo dirty by a change that is known, so that not all of it is in doubt', async () => {
    await run(await mark({ [oidOf(3)]: 10 }));
    expect((await stack.ledger.readRepo({ tenant, repo }))?.dirtyToken).not.toBeNull();
    expect(await isUnknown()).toBe(false);
  });

  it('marks it dirty by a new change each time: a scan that began before cannot clear it', async () => {
    const tokens: unknown[] = [];
    for (const id of ['d1', 'd2']) {
      await run(await mark({ [oidOf(3)]: 10 }, repo, id));
      tokens.push((await stack.ledger.readRepo({ tenant, repo }))?.dirtyToken);
    }
    expect(tokens[0]).not.toBe(tokens[1]);
  });

  it('does not hide an unknown change if its write lands once more after it', async () => {
    const writes = vi.spyOn(stack.ledger, 'markDirty');
    await run(await mark({ [oidOf(3)]: 10 }));
    const [[again] = []] = writes.mock.calls;
    writes.mockRestore();
    if (!again) throw new Error('The repo was not marked.');
    await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'unknown' });
    await stack.ledger.markDirty(again);
    expect(await isUnknown()).toBe(true);
  });

  it('leaves it dirty by an unknown change if something unknown had changed before', async () => {
    await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'unknown' });
    await run(await mark({ [oidOf(3)]: 10 }));
    expect((await stack.ledger.readRepo({ tenant, repo }))?.dirtyToken).not.toBe('unknown');
    expect(await isUnknown()).toBe(true);
  });

  it('says nothing of what is held if no other run has begun it: nothing of that was deleted', async () => {
    await hold(oidOf(70));
    const after = await run(await mark({ [oidOf(3)]: 10, [oidOf(70)]: 7 }));
    expect(after).toMatchObject({ state: 'marked', objects: new Map([[oidOf(70), 7]]) });
    expect([...(after?.removal?.objects.keys() ?? [])]).toEqual([oidOf(3)]);
  });

  it('asks for no object if the repo is closed: its shards are empty soon', async () => {
    const head = vi.spyOn(stack.deps.store, 'head');
    const after = await run(await mark({ [oidOf(3)]: 10 }), true);
    expect(head).not.toHaveBeenCalled();
    head.mockRestore();
    expect(after?.removal?.objects).toEqual(new Map([[oidOf(3), { sizeBytes: 10, lastModifiedMs: null }]]));
  });

  it('is expected once more under the names of its objects, even without a limit', async () => {
    await updateTenant(stack.ledger, { tenant, limitBytes: null });
    const expected = (where: string) =>
      expectedOnceMore(stack.deps, {
        tenant,
        repo: where,
        objects: new Map([[oidOf(3), 10]]),
        putsUntilMs: stack.nowMs + minute,
        deadlineMs: stack.nowMs + minute,
      });
    for (const where of [repo, ordinary, 'unknown'])
      expect((await expected(where))?.late.claims).toEqual(new Map([[oidOf(3), 10]]));
  });
});

describe('a delete in a giant whose run has died', () => {
  const names = [oidOf(3), oidOf(4)];

  /** A run that deletes the first object, and dies. Then a batch claims both, and holds them. */
  const beginAndDie = async (): Promise<Deletion> => {
    const deletion = await mark({ [oidOf(3)]: 10, [oidOf(4)]: 10 });
    stack.beforeDelete = (key) => {
      if (key.endsWith(oidOf(3))) void stack.objects.delete([key]);
      throw new StoreUnavailableError('No answer.');
    };
    const died = await runDeletion(stack.deps, { tenant, deletion, isClosed: false });
    expect(died.kind).toBe('unanswered');
    stack.beforeDelete = () => undefined;
    await hold(...names);
    stack.nowMs += deleteRunMs + minute;
    const [left] = await stack.deletions();
    if (!left) throw new Error('The deletion is gone.');
    return left;
  };

  it('spares what is held since, and leaves a record of what the dead run had removed', async () => {
    const deletion = await beginAndDie();
    const after = await run(deletion);
    expect(after).toMatchObject({ state: 'marked' });
    expect(after?.removal).toMatchObject({
      beganMs: deletion.dueAtMs,
      objects: new Map([[oidOf(3), { sizeBytes: 10, lastModifiedMs: null }]]),
    });
    expect([...(after?.objects.keys() ?? [])].sort()).toEqual([...names].sort());
    expect((await stack.ledger.readRepo({ tenant, repo }))?.dirtyToken).not.toBeNull();
  });

  it('leaves an unknown change if it is void, because a run that died may have deleted some of it', async () => {
    const objects = new Map([[oidOf(3), 10]]);
    const before = newDeletion({ id: 'd', repo, objects, dueAtMs: stack.nowMs, closedAtMs: 7 });
    await stack.ledger.putDeletion({ tenant, deletion: before });
    await run(before);
    const record = () => stack.ledger.readRepo({ tenant, repo });
    expect((await record())?.dirtyToken).toBeNull();
    await stack.ledger.putDeletion({ tenant, deletion: { ...before, id: 'e' } });
    const second = { tenant, before: { ...before, id: 'e' }, deadlineMs: stack.nowMs + minute };
    const claim = await stack.ledger.claimDeletion(second);
    if (claim.kind !== 'claimed') throw new Error(claim.kind);
    stack.nowMs += 2 * minute;
    await run(claim.deletion);
    expect(isChangeUnknown((await record()) ?? { dirtyToken: null })).toBe(true);
  });

  it('is left to the next run if the store does not say what is there', async () => {
    const deletion = await beginAndDie();
    vi.spyOn(stack.deps.store, 'head').mockRejectedValue(new StoreUnavailableError('No answer.'));
    expect(await runDeletion(stack.deps, { tenant, deletion, isClosed: false })).toEqual({
      kind: 'unanswered',
    });
    expect((await stack.deletions())[0]).toMatchObject({ state: 'deleting' });
    vi.restoreAllMocks();
  });

  it('ends with an error that is not the store being silent', async () => {
    const deletion = await beginAndDie();
    vi.spyOn(stack.deps.store, 'head').mockRejectedValue(new TypeError('A mistake of ours.'));
    const again = runDeletion(stack.deps, { tenant, deletion, isClosed: false });
    await expect(again).rejects.toThrow('A mistake of ours.');
    vi.restoreAllMocks();
  });

  it('is counted right once another recount has run', async () => {
    const deletion = await beginAndDie();
    const before = (await stack.record()).counted?.storedBytes ?? 0;
    await run(deletion);
    await stack.consume();
    expect((await stack.record()).counted?.storedBytes).toBe(before - 10);
  });
});

describe('a delete in a closed giant', () => {
  /** It waits for a reservation, and what it names is free sooner. The repo is closed, so nobody waits. */
  const beginEarly = async (): Promise<void> => {
    const named = new Map([[oidOf(3), 10]]);
    const deletion = newDeletion({ id: 'd', repo, objects: named, dueAtMs: stack.nowMs + day });
    await stack.ledger.putDeletion({ tenant, deletion });
    stack.beforeDelete = (key) => {
      void stack.objects.delete([key]);
      throw new StoreUnavailableError('No answer.');
    };
    expect(await runDeletion(stack.deps, { tenant, deletion, isClosed: true })).toMatchObject({
      kind: 'unanswered',
    });
    stack.beforeDelete = () => undefined;
  };

  it('that was begun before it was due, and died, makes usage as old as its beginning', async () => {
    const beganMs = stack.nowMs;
    await beginEarly();
    // Nobody may take it over yet.
    stack.nowMs += minute / 2;
    await stack.recount();
    // The object is gone, and nobody has said so.
    expect((await stack.record()).counted).toMatchObject({ storedBytes: 600, countedAtMs: beganMs });
  });

  it('that was begun before it was due is taken over with the time at which it was begun', async () => {
    const beganMs = stack.nowMs;
    await beginEarly();
    stack.nowMs += 10 * minute;
    const [dead] = await stack.deletions();
    if (!dead) throw new Error('It is under way.');
    expect((await run(dead))?.removal).toMatchObject({ beganMs, endedMs: stack.nowMs });
  });
});

describe('a delete in a giant of which a live reservation holds a part', () => {
  it('is refused to whoever read it before its last run, so that the record of that run is not replaced', async () => {
    const deletion = await mark({ [oidOf(3)]: 10, [oidOf(4)]: 10 });
    const reservation = {
      id: 'r',
      repo,
      state: 'issued' as const,
      claims: new Map([[oidOf(4), 10]]),
      createdAtMs: stack.nowMs,
      expiresAtMs: stack.nowMs + minute,
      deadAtMs: stack.nowMs + minute,
      lookAtMs: null,
    };
    await stack.ledger.putReservation({ tenant, reservation });
    const after = await run(deletion);
    expect(after).toMatchObject({ state: 'marked', objects: new Map([[oidOf(4), 10]]) });
    expect([...(after?.removal?.objects.keys() ?? [])]).toEqual([oidOf(3)]);
    stack.nowMs += 2 * minute;
    expect(await runDeletion(stack.deps, { tenant, deletion, isClosed: true })).toEqual({ kind: 'refused' });
    expect(await stack.deletions()).toEqual([after]);
  });
});

describe('a delete of a clean-up in a giant', () => {
  const [chosen, also] = [oidOf(3), oidOf(4)];

  /** A batch names these once they were chosen. */
  const choose = async (named: string[]): Promise<Deletion> => {
    const watch = { id: 'w', openedAtMs: stack.nowMs, untilMs: stack.nowMs + day };
    await stack.ledger.openWatch({ tenant, repo, watch, nowMs: stack.nowMs });
    const note = { beganMs: stack.nowMs, prefixes: prefixText(named) };
    await stack.ledger.noteSeen({ tenant, watch, noteId: 'n', note });
    const objects = new Map([chosen, also].map((name) => [name, 10]));
    const sweep = { watchId: 'w', seenFromMs: 0 };
    const deletion = newDeletion({ id: 'd', repo, objects, dueAtMs: stack.nowMs, sweep });
    await stack.ledger.putDeletion({ tenant, deletion });
    return deletion;
  };
  const die = async (before: Deletion): Promise<Deletion> => {
    const claim = await stack.ledger.claimDeletion({ tenant, before, deadlineMs: stack.nowMs });
    if (claim.kind === 'refused') throw new Error('It is refused.');
    stack.nowMs += minute;
    return claim.deletion;
  };

  it('leaves a change that is known, though a batch has named some of it since', async () => {
    await run(await choose([also]));
    expect(stack.objects.objectCount).toBe(59);
    expect(await isUnknown()).toBe(false);
  });

  it('leaves a known one also after a run that died, if nothing was named since', async () => {
    await run(await die(await choose([])));
    expect(await isUnknown()).toBe(false);
  });

  it('leaves an unknown one if a run that died may have deleted what is spared now', async () => {
    await run(await die(await choose([also])));
    expect(await isUnknown()).toBe(true);
  });
});

describe('a delete in another repo', () => {
  beforeEach(async () => {
    stack.put({ [`${ordinary}/${oidOf(1)}`]: 10 });
    await stack.recount('manual', true);
  });

  it('asks the store for nothing, leaves no record, and marks the repo dirty: it is listed anyway', async () => {
    const head = vi.spyOn(stack.deps.store, 'head');
    const after = await run(await mark({ [oidOf(1)]: 10 }, ordinary));
    expect(head).not.toHaveBeenCalled();
    head.mockRestore();
    expect(after).not.toHaveProperty('removal');
    const record = await stack.ledger.readRepo({ tenant, repo: ordinary });
    expect(isChangeUnknown({ dirtyToken: record?.dirtyToken ?? null })).toBe(true);
  });
});

describe('the record of what a delete removed', () => {
  const runAll = () => runDeletions(stack.deps, { tenant, untilMs: 9e15, deletionCount: 0 });
  const noObjects: ReadonlyMap<string, number> = new Map();
  const ended = async (where: string, left?: typeof noObjects) => {
    const deletion = await mark({ [oidOf(3)]: 10 }, where);
    const removal = { runMs: 1, beganMs: 1, endedMs: 1, objects: new Map() };
    await stack.ledger.claimDeletion({ tenant, before: deletion, deadlineMs: 1 });
    await stack.ledger.endDeletion({
      tenant,
      repo: where,
      deletionId: deletion.id,
      deadlineMs: 1,
      left: left ?? deletion.objects,
      dueAtMs: stack.nowMs + day,
      keptUntilMs: null,
      removal,
    });
  };

  it('stays until a reconcile has taken it off the count of a giant', async () => {
    await ended(repo);
    await runAll();
    expect(await stack.deletions()).toMatchObject([{ removal: { runMs: 1 } }]);
    await stack.recount();
    expect((await stack.deletions())[0]).not.toHaveProperty('removal');
  });

  it('stays, though nobody asks any more what is gone, and so counts as one of the deletions of the tenant', async () => {
    await ended(repo, noObjects);
    const before = await stack.deletions();
    stack.nowMs += day;
    await runAll();
    expect(await stack.deletions()).toEqual(before);
    expect(before).toMatchObject([{ state: 'gone' }]);
    expect((await stack.record()).deletionCount).toBe(1);
  });

  it.each([ordinary, 'unknown'])('is dropped if the repo is a giant no longer (%s)', async (where) => {
    await ended(where);
    await runAll();
    expect((await stack.deletions())[0]).not.toHaveProperty('removal');
  });
});
