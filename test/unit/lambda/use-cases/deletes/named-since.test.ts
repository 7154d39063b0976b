import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Deletion, keptUntilMs } from '../../../../../lambda/domain/deletion.ts';
import { prefixText } from '../../../../../lambda/gc/rules/cleanups.ts';
import { sha256Hex } from '../../../../../lambda/rules/hash.ts';
import { runDeletion } from '../../../../../lambda/use-cases/deletes/run-deletions.ts';
import { keepFromDeletion } from '../../../../../lambda/use-cases/uploads/keep-from-deletion.ts';
import { reservation } from '../../../../support/ledger-records.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

const repo = 'app';
const [a, b] = [sha256Hex('a'), sha256Hex('b')];

describe('a deletion of a clean-up', () => {
  let world: MemoryStack;
  const watchOf = (id: string) => ({ id, openedAtMs: world.nowMs, untilMs: world.nowMs + 60 * minute });
  const open = (id = 'w') => world.ledger.openWatch({ tenant, repo, watch: watchOf(id), nowMs: world.nowMs });
  const named = (oid: string, beganMs: number, watchId = 'w') =>
    world.ledger.noteSeen({
      tenant,
      watch: watchOf(watchId),
      noteId: `n${beganMs}`,
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
    const begun = await world.claim(await mark({ [a]: 1 }), world.nowMs);
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
    expect(await world.ledger.goneOf({ tenant, repo, oids: [a, b] })).toEqual(new Map([[b, world.nowMs]]));
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
    expect(gone).toMatchObject({ state: 'gone', objects: hasPrefixes ? new Map() : names });
    expect(gone?.prefixes).toBe(hasPrefixes && prefixText([a, b]));
    // A batch that was told before that they are stored.
    const asked = { tenant, repo, names, stored: new Map([[b, 2]]), deletionCount: 0 };
    expect(await keepFromDeletion(world.deps, asked)).toBe('deleting');
  });

  it.each([
    ['was named since', true],
    // Marked again, it would tell no batch of what went beside it.
    ['was not: that is left to the next clean-up', false],
  ])('is done though a reservation holds some of it that %s', async (_, isNamed) => {
    await open();
    if (isNamed) await named(a, 1000);
    const held = reservation('r', { state: 'issued', claims: new Map([[a, 1]]), deadAtMs: 9e15 });
    await world.ledger.putReservation({ tenant, reservation: held });
    expect(await run()).toMatchObject({ kind: 'ended', heldCount: isNamed ? 0 : 1, gone: new Map([[b, 2]]) });
    expect(await world.keys()).toEqual([`${repo}/${a}`]);
    expect(await world.deletions()).toMatchObject([{ state: 'gone' }]);
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
    const message = 'deletion is dropped: its repo was opened since, or its clean-up has ended';
    expect(info.mock.calls).toEqual([[message, { tenant, repo }]]);
    info.mockRestore();
  });

  it('leaves a record if it is void, but an earlier run may have deleted something', async () => {
    await runIt(await runAndDie());
    const deadlineMs = keptUntilMs(world.deps.settings, world.nowMs);
    expect(await world.deletions()).toMatchObject([{ state: 'gone', deadlineMs }]);
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

  it('leaves nothing that is said to be gone if it is none of a clean-up', async () => {
    await runIt(await world.mark({ [a]: 1 }));
    expect(await world.ledger.goneOf({ tenant, repo, oids: [a] })).toEqual(new Map());
  });
});
