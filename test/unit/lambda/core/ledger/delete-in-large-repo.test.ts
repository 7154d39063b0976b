import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Deletion, deleteRunMs } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { isChangeUnknown } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import {
  expectedOnceMore,
  runDeletion,
  runDeletions,
} from '../../../../../lambda/core/ledger/run-deletions.ts';
import { prefixText } from '../../../../../lambda/core/rules/prefix-set.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { reservation } from '../../../../support/ledger-records.ts';
import {
  type LargeRepoStack,
  largeRepoStack,
  oidOf,
  repo,
} from '../../../../support/memory/large-repo-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';
import { updateTenant } from '../../../../support/over-settings.ts';

const day = 24 * 60 * minute;
const ordinary = 'small';
const [three, four, absent] = [oidOf(3), oidOf(4), oidOf(70)];

let stack: LargeRepoStack;

beforeEach(async () => {
  stack = await largeRepoStack();
});

const tryRun = (deletion: Deletion, isClosed = false) =>
  runDeletion(stack.deps, { tenant, deletion, isClosed });

/** Runs it to its end. @returns what is left of it. */
async function run(deletion: Deletion, isClosed = false): Promise<Deletion | undefined> {
  expect(await tryRun(deletion, isClosed)).toMatchObject({ kind: 'ended' });
  return (await stack.deletions())[0];
}

/** A reservation claims these, and lives for so long. */
async function hold(names: string[], lifeMs = day): Promise<void> {
  const endsMs = stack.nowMs + lifeMs;
  const times = { createdAtMs: stack.nowMs, expiresAtMs: endsMs, lapsedAtMs: endsMs };
  const entries = new Map(names.map((name) => [name, 10]));
  const held = reservation('r', { repo, state: 'issued', entries, ...times });
  await stack.ledger.putReservation({ tenant, reservation: held });
}

/** The run's deletes happen, or only those that end with a name, and nobody hears of them. */
const answerNothing = (landing = '') => {
  stack.beforeDelete = (key) => {
    if (key.endsWith(landing)) void stack.objects.delete([key]);
    throw new StoreUnavailableError('No answer.');
  };
};

const dirtyToken = async (where = repo) => (await stack.repo(where))?.dirtyToken ?? null;
const isUnknown = async (where = repo) => isChangeUnknown({ dirtyToken: await dirtyToken(where) });
const namesOf = (objects: ReadonlyMap<string, unknown> | undefined) => [...(objects?.keys() ?? [])].sort();

describe('a delete in a large repo', () => {
  it('leaves a record of when it ran, and of what the store said of each object right before', async () => {
    const deletion = await stack.mark({ [three]: 1, [absent]: 7 });
    stack.beforeDelete = () => {
      stack.nowMs += 5;
    };
    const beganMs = stack.nowMs;
    expect((await run(deletion))?.removal).toEqual({
      runMs: beganMs + deleteRunMs,
      beganMs,
      endedMs: beganMs + 10,
      objects: new Map([
        [three, { sizeBytes: 10, lastModifiedMs: beganMs - day }],
        // It was not there.
        [absent, { sizeBytes: 7, lastModifiedMs: null }],
      ]),
    });
  });

  it('marks the repo dirty by a change that is known, and by a new one each time: no scan that began before clears it', async () => {
    const tokens: unknown[] = [];
    for (const id of ['d1', 'd2']) {
      await run(await stack.mark({ [three]: 10 }, { id }));
      expect(await isUnknown()).toBe(false);
      tokens.push(await dirtyToken());
    }
    expect(tokens[0]).not.toBeNull();
    expect(tokens[0]).not.toBe(tokens[1]);
  });

  it('does not hide an unknown change, neither from before nor if its write lands once more after it', async () => {
    const writes = vi.spyOn(stack.ledger, 'markDirty');
    await run(await stack.mark({ [three]: 10 }));
    const [[again] = []] = writes.mock.calls;
    writes.mockRestore();
    if (!again) throw new Error('The repo was not marked.');
    await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'unknown' });
    await stack.ledger.markDirty(again);
    expect(await isUnknown()).toBe(true);
    await run(await stack.mark({ [four]: 10 }, { id: 'e' }));
    expect(await dirtyToken()).not.toBe('unknown');
    expect(await isUnknown()).toBe(true);
  });

  it('says nothing of what is held if no other run has begun it: nothing of that was deleted', async () => {
    await hold([absent]);
    const after = await run(await stack.mark({ [three]: 10, [absent]: 7 }));
    expect(after).toMatchObject({ state: 'scheduled', objects: new Map([[absent, 7]]) });
    expect(namesOf(after?.removal?.objects)).toEqual([three]);
  });

  it('asks for no object if the repo is closed: its shards are empty soon', async () => {
    const head = vi.spyOn(stack.deps.store, 'head');
    const after = await run(await stack.mark({ [three]: 10 }), true);
    expect(head).not.toHaveBeenCalled();
    head.mockRestore();
    expect(after?.removal?.objects).toEqual(new Map([[three, { sizeBytes: 10, lastModifiedMs: null }]]));
  });

  it.each([repo, ordinary, 'unknown'])(
    'is expected once more under the names of its objects, even without a limit (%s)',
    async (where) => {
      await updateTenant(stack.ledger, { tenant, limitBytes: null });
      const objects = new Map([[three, 10]]);
      const times = { putsUntilMs: stack.nowMs + minute, deadlineMs: stack.nowMs + minute };
      const expected = await expectedOnceMore(stack.deps, { tenant, repo: where, objects, ...times });
      expect(expected?.unconfirmed.entries).toEqual(objects);
    },
  );

  it('is refused to whoever read it before its last run, so that the record of that run is not replaced', async () => {
    const deletion = await stack.mark({ [three]: 10, [four]: 10 });
    await hold([four], minute);
    const after = await run(deletion);
    expect(after).toMatchObject({ state: 'scheduled', objects: new Map([[four, 10]]) });
    expect(namesOf(after?.removal?.objects)).toEqual([three]);
    stack.nowMs += 2 * minute;
    expect(await tryRun(deletion, true)).toEqual({ kind: 'refused' });
    expect(await stack.deletions()).toEqual([after]);
  });
});

describe('a delete in a large repo whose run has died', () => {
  /** A run that deletes the first object, and dies. Then a batch claims both, and holds them. */
  const beginAndDie = async (): Promise<Deletion> => {
    const deletion = await stack.mark({ [three]: 10, [four]: 10 });
    answerNothing(three);
    expect((await tryRun(deletion)).kind).toBe('unanswered');
    stack.beforeDelete = () => undefined;
    await hold([three, four]);
    stack.nowMs += deleteRunMs + minute;
    return stack.deletion();
  };

  it('spares what is held since, and leaves a record of what the dead run had removed', async () => {
    const deletion = await beginAndDie();
    const after = await run(deletion);
    expect(after).toMatchObject({
      state: 'scheduled',
      removal: {
        beganMs: deletion.dueAtMs,
        objects: new Map([[three, { sizeBytes: 10, lastModifiedMs: null }]]),
      },
    });
    expect(namesOf(after?.objects)).toEqual([three, four].sort());
    expect(await dirtyToken()).not.toBeNull();
  });

  it('leaves an unknown change if it is void, because a run that died may have deleted some of it', async () => {
    await run(await stack.mark({ [three]: 10 }, { closedAtMs: 7 }));
    expect(await dirtyToken()).toBeNull();
    const begun = await stack.entry(await stack.mark({ [three]: 10 }, { id: 'e', closedAtMs: 7 }));
    stack.nowMs += 2 * minute;
    await run(begun);
    expect(await isUnknown()).toBe(true);
  });

  it('is left to the next run if the store does not say what is there, and ends with any other error', async () => {
    const deletion = await beginAndDie();
    const head = vi.spyOn(stack.deps.store, 'head');
    head.mockRejectedValue(new StoreUnavailableError('No answer.'));
    expect(await tryRun(deletion)).toEqual({ kind: 'unanswered' });
    expect(await stack.deletion()).toMatchObject({ state: 'deleting' });
    stack.nowMs += 2 * minute;
    head.mockRejectedValue(new TypeError('A mistake of ours.'));
    await expect(tryRun(await stack.deletion())).rejects.toThrow('A mistake of ours.');
    head.mockRestore();
  });

  it('is counted right once another reconcile has run', async () => {
    const deletion = await beginAndDie();
    const before = (await stack.record()).scanned?.storedBytes ?? 0;
    await run(deletion);
    await stack.consume();
    expect((await stack.record()).scanned?.storedBytes).toBe(before - 10);
  });
});

describe('a delete in a closed large repo that was begun before it was due, and died,', () => {
  let beganMs: number;
  // It waits for a reservation, and what it names is free sooner. The repo is closed, so nobody waits.
  beforeEach(async () => {
    beganMs = stack.nowMs;
    const deletion = await stack.mark({ [three]: 10 }, { dueAtMs: stack.nowMs + day });
    answerNothing();
    expect(await tryRun(deletion, true)).toMatchObject({ kind: 'unanswered' });
    stack.beforeDelete = () => undefined;
  });

  it('makes usage as old as its beginning', async () => {
    // Nobody may take it over yet.
    stack.nowMs += minute / 2;
    await stack.reconcile();
    // The object is gone, and nobody has said so.
    expect((await stack.record()).scanned).toMatchObject({ storedBytes: 600, scannedAtMs: beganMs });
  });

  it('is taken over with the time at which it was begun', async () => {
    stack.nowMs += 10 * minute;
    const after = await run(await stack.deletion());
    expect(after?.removal).toMatchObject({ beganMs, endedMs: stack.nowMs });
  });
});

describe('a delete of a gc run in a large repo', () => {
  const [chosen, also] = [three, four];

  /** A batch names these once they were chosen. */
  const choose = async (named: string[]): Promise<Deletion> => {
    const watch = { id: 'w', openedAtMs: stack.nowMs, untilMs: stack.nowMs + day };
    await stack.ledger.openWatch({ tenant, repo, watch, nowMs: stack.nowMs });
    const note = { beganMs: stack.nowMs, prefixes: prefixText(named) };
    await stack.ledger.noteSeen({ tenant, watch, intentId: 'n', note });
    return stack.mark({ [chosen]: 10, [also]: 10 }, { sweep: { watchId: 'w', seenFromMs: 0 } });
  };

  it.each([
    ['a known change, though a batch has named some of it since', [also], false, false],
    ['a known one also after a run that died, if nothing was named since', [], true, false],
    ['an unknown one if a run that died may have deleted what is spared now', [also], true, true],
  ])('leaves %s', async (_, named, hasDied, unknown) => {
    let deletion = await choose(named);
    if (hasDied) {
      deletion = await stack.entry(deletion, stack.nowMs);
      stack.nowMs += minute;
    }
    await run(deletion);
    expect([stack.objects.objectCount, await isUnknown()]).toEqual([58 + named.length, unknown]);
  });
});

describe('a delete in another repo', () => {
  it('asks the store for nothing, leaves no record, and marks the repo dirty: it is listed anyway', async () => {
    stack.put({ [`${ordinary}/${oidOf(1)}`]: 10 });
    await stack.reconcile('manual', true);
    const head = vi.spyOn(stack.deps.store, 'head');
    const after = await run(await stack.mark({ [oidOf(1)]: 10 }, { repo: ordinary }));
    expect(head).not.toHaveBeenCalled();
    head.mockRestore();
    expect(after).not.toHaveProperty('removal');
    expect(await isUnknown(ordinary)).toBe(true);
  });
});

describe('the record of what a delete removed', () => {
  const runAll = () => runDeletions(stack.deps, { tenant, untilMs: 9e15, deletionCount: 0 });
  const noObjects: ReadonlyMap<string, number> = new Map();
  const ended = async (where: string, left?: typeof noObjects) => {
    const deletion = await stack.mark({ [three]: 10 }, { repo: where });
    await stack.entry(deletion, 1);
    await stack.ledger.endDeletion({
      tenant,
      repo: where,
      deletionId: deletion.id,
      deadlineMs: 1,
      left: left ?? deletion.objects,
      dueAtMs: stack.nowMs + day,
      keptUntilMs: null,
      removal: { runMs: 1, beganMs: 1, endedMs: 1, objects: new Map() },
    });
  };

  it('stays until a reconcile has taken it off the count of a large repo', async () => {
    await ended(repo);
    await runAll();
    expect(await stack.deletion()).toMatchObject({ removal: { runMs: 1 } });
    await stack.reconcile();
    expect(await stack.deletion()).not.toHaveProperty('removal');
  });

  it('stays, though nobody asks any more what is gone, and so counts as one of the deletions of the tenant', async () => {
    await ended(repo, noObjects);
    const before = await stack.deletions();
    stack.nowMs += day;
    await runAll();
    expect(await stack.deletions()).toEqual(before);
    expect(before).toMatchObject([{ state: 'deleted' }]);
    expect((await stack.record()).deletionCount).toBe(1);
  });

  it.each([ordinary, 'unknown'])('is dropped if the repo is a large repo no longer (%s)', async (where) => {
    await ended(where);
    await runAll();
    expect(await stack.deletion()).not.toHaveProperty('removal');
  });
});
