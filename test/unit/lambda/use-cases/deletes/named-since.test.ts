import { beforeEach, describe, expect, it, vi } from 'vitest';
import { prefixText } from '../../../../../lambda/domain/cleanup/prefixes.ts';
import { keptUntilMs, newDeletion } from '../../../../../lambda/domain/deletion.ts';
import { sha256Hex } from '../../../../../lambda/domain/hash.ts';
import { runDeletion } from '../../../../../lambda/use-cases/deletes/run-deletions.ts';
import { keepFromDeletion } from '../../../../../lambda/use-cases/uploads/keep-from-deletion.ts';
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
  const run = async ({ watchId = 'w', isClosed = false, seenFromMs = 1000 } = {}) => {
    const objects = new Map([
      [a, 1],
      [b, 2],
    ]);
    const sweep = { watchId, seenFromMs };
    const deletion = newDeletion({ id: 'd', repo, objects, dueAtMs: world.nowMs, sweep });
    await world.ledger.putDeletion({ tenant, deletion });
    return runDeletion(world.deps, { tenant, deletion, isClosed });
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
    const names = new Map([
      [a, 1],
      [b, 2],
    ]);
    const [gone] = await world.deletions();
    expect(gone).toMatchObject({ state: 'gone', objects: hasPrefixes ? new Map() : names });
    expect(gone?.prefixes).toBe(hasPrefixes && prefixText([a, b]));
    // A batch that was told before that they are stored.
    const asked = { tenant, repo, names, stored: new Map([[b, 2]]), deletionCount: 0 };
    expect(await keepFromDeletion(world.deps, asked)).toBe('deleting');
  });

  it('is done with what was named since, though a reservation holds that, too', async () => {
    await open();
    await named(a, 1000);
    const times = { createdAtMs: 1, expiresAtMs: 9e15, deadAtMs: 9e15, lookAtMs: null };
    const reservation = { id: 'r', repo, state: 'issued' as const, claims: new Map([[a, 1]]), ...times };
    await world.ledger.putReservation({ tenant, reservation });
    expect(await run()).toMatchObject({ kind: 'ended', heldCount: 0 });
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
    const deletion = newDeletion({
      id: 'd',
      repo,
      objects: new Map([[a, 1]]),
      dueAtMs: world.nowMs,
      sweep: { watchId: 'w', seenFromMs: 1000 },
    });
    await world.ledger.putDeletion({ tenant, deletion });
    const claim = await world.ledger.claimDeletion({ tenant, before: deletion, deadlineMs: world.nowMs });
    if (claim.kind === 'refused') throw new Error('It was claimed.');
    await world.objects.delete([`${tenant}/${repo}/${a}`]);
    world.nowMs += minute;
    await runDeletion(world.deps, { tenant, deletion: claim.deletion, isClosed: false });
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
    await run({ isClosed: true });
    expect(await world.keys()).toEqual([]);
  });

  it('has its repo scanned if an earlier run may have deleted what is spared now', async () => {
    await open();
    const sweep = { watchId: 'w', seenFromMs: 1000 };
    const deletion = newDeletion({ id: 'd', repo, objects: new Map([[a, 1]]), dueAtMs: world.nowMs, sweep });
    await world.ledger.putDeletion({ tenant, deletion });
    const claim = await world.ledger.claimDeletion({ tenant, before: deletion, deadlineMs: world.nowMs });
    if (claim.kind === 'refused') throw new Error('It was claimed.');
    await world.objects.delete([`${tenant}/${repo}/${a}`]);
    await named(a, 2000);
    world.nowMs += minute;
    await runDeletion(world.deps, { tenant, deletion: claim.deletion, isClosed: false });
    expect((await world.ledger.readRepo({ tenant, repo }))?.dirtyToken).not.toBeNull();
    await world.consume();
    expect((await world.usage()).storedBytes).toBe(2);
  });

  it('leaves nothing that is said to be gone if it is none of a clean-up', async () => {
    const objects = new Map([[a, 1]]);
    const deletion = newDeletion({ id: 'd', repo, objects, dueAtMs: world.nowMs });
    await world.ledger.putDeletion({ tenant, deletion });
    await runDeletion(world.deps, { tenant, deletion, isClosed: false });
    expect(await world.ledger.goneOf({ tenant, repo, oids: [a] })).toEqual(new Map());
  });
});
