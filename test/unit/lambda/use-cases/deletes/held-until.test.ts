import { expect, it, vi } from 'vitest';
import { changeNote } from '../../../../../lambda/domain/store-change.ts';
import { allPages } from '../../../../../lambda/rules/async.ts';
import { heldUntilMs, readHolds } from '../../../../../lambda/use-cases/deletes/held-until.ts';
import { runDeletions } from '../../../../../lambda/use-cases/deletes/run-deletions.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const day = 24 * 60 * minute;

it('live reservations hold the objects that they claim of those to be deleted, until the last of these is dead', async () => {
  const world = new MemoryStack();
  await world.create();
  const read = () => readHolds(world.deps, { tenant, repo: 'app', names: [oidOf(1), oidOf(2), 'note'] });
  expect(await read()).toEqual({ held: new Set(), untilMs: 0, putsUntilMs: 0 });
  const note = changeNote(world.deps.settings, { id: 'n', repo: 'app', nowMs: world.nowMs });
  await world.ledger.putReservation({ tenant, reservation: note });
  expect(await read()).toEqual({ held: new Set(), untilMs: 0, putsUntilMs: 0 });

  await world.push('app', { [oidOf(1)]: 1, [oidOf(9)]: 1 });
  const deadMs = world.nowMs + 36 * minute + 10_001;
  world.nowMs += minute;
  // Claims none of them, so it holds nothing, but its PUTs may end later.
  await world.push('app', { [oidOf(8)]: 1 });
  const putsUntilMs = deadMs + minute + day;
  expect(await read()).toEqual({ held: new Set([oidOf(1)]), untilMs: deadMs, putsUntilMs });
  world.nowMs = deadMs;
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
