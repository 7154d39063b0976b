import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Input } from '../../../../../lambda/adapters/dynamodb/ledger.ts';
import { changeNote } from '../../../../../lambda/domain/store-change.ts';
import { listReservations } from '../../../../../lambda/use-cases/uploads/list-reservations.ts';
import { newTenant, reservation } from '../../../../support/ledger-records.ts';
import { CountingDeps } from '../../../../support/memory/counting-deps.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { walk } from '../../../../support/walk.ts';

/** From a reservation of small objects to its death: 30 min of URL, 1 of slack, 5 of grace, 1 ms to send it, 10 s of clocks. */
const lifeMs = 36 * minute + 10_001;
const day = 24 * 60 * minute;

describe('a reservation in the list', () => {
  let world: MemoryStack;
  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
  });

  const list = async ({ repo, ...more }: Partial<Input<'listReservations'>> = {}) => {
    const repos = repo === undefined ? null : [repo];
    return (await listReservations(world.deps, { tenant, repos, pageSize: 100, ...more })).reservations;
  };

  it('is issued until it is dead, and says until when', async () => {
    const beganMs = world.nowMs;
    await world.push('app', { [oidOf(1)]: 10, [oidOf(2)]: 5 });
    expect(await list()).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        repo: 'app',
        state: 'issued',
        objectCount: 2,
        bytes: 15,
        hasArrived: false,
        madeBy: null,
        createdAtMs: beganMs,
        expiresAtMs: beganMs + 31 * minute,
        heldUntilMs: beganMs + lifeMs,
      },
    ]);
  });

  it('has arrived once a count has seen all of it, and is not shown any more when it is dead', async () => {
    await world.push('app', { [oidOf(1)]: 10, [oidOf(2)]: 5 });
    world.put({ [`app/${oidOf(1)}`]: 10 });
    await world.consume();
    expect(await list()).toMatchObject([{ state: 'issued', bytes: 15, hasArrived: false }]);
    world.put({ [`app/${oidOf(2)}`]: 5 });
    expect(await list()).toMatchObject([{ hasArrived: false }]);
    await world.consume();
    expect(await list()).toMatchObject([{ state: 'issued', bytes: 15, hasArrived: true }]);
    world.nowMs += lifeMs + 1;
    expect(await list()).toEqual([]);
  });

  it('is late from its death on, with what was not seen, until its day is over', async () => {
    const deadMs = world.nowMs + lifeMs;
    await world.push('app', { [oidOf(1)]: 10, [oidOf(2)]: 5 });
    world.put({ [`app/${oidOf(1)}`]: 10 });
    world.nowMs = deadMs;
    expect(await list()).toMatchObject([{ state: 'issued', heldUntilMs: deadMs }]);
    world.nowMs += 1;
    const late = { state: 'late', heldUntilMs: deadMs + day };
    expect(await list()).toMatchObject([{ ...late, objectCount: 2, bytes: 15 }]);
    await world.consume();
    expect(await list()).toMatchObject([{ ...late, objectCount: 1, bytes: 5 }]);
    world.nowMs = deadMs + day + 1;
    await world.consume();
    expect(await list()).toEqual([]);
  });

  it('is pending until its batch has issued it, and never late if that died', async () => {
    const deadAtMs = world.nowMs + lifeMs;
    const times = { createdAtMs: world.nowMs, expiresAtMs: world.nowMs + 31 * minute, deadAtMs };
    await world.ledger.putReservation({ tenant, reservation: reservation('r', times) });
    const pending = { id: 'r', state: 'pending', heldUntilMs: deadAtMs };
    expect(await list()).toMatchObject([pending]);
    world.nowMs += lifeMs + 1;
    expect(await list()).toMatchObject([pending]);
  });

  it('is not a note that the store reported a change', async () => {
    const { settings } = world.deps;
    const note = changeNote(settings, { id: 'note', repo: 'app', nowMs: world.nowMs });
    await world.ledger.putReservation({ tenant, reservation: note });
    expect(await list()).toEqual([]);
  });

  it('stands on one page, of the tenant or of one repo', async () => {
    for (const [repo, index] of [['app', 1] as const, ['web', 2] as const, ['app', 3] as const])
      await world.push(repo, { [oidOf(index)]: index });
    const first = await listReservations(world.deps, { tenant, repos: null, pageSize: 2 });
    expect(first.reservations.map(({ repo }) => repo)).toEqual(['app', 'app']);
    expect(first.next).toEqual({ repo: 'app', reservationId: first.reservations[1]?.id });
    const after = first.next ?? { repo: '', reservationId: '' };
    const second = await listReservations(world.deps, { tenant, repos: null, pageSize: 2, after });
    expect([second.reservations.map(({ repo }) => repo), second.next]).toEqual([['web'], null]);
    expect((await list({ repo: 'web' })).map(({ bytes }) => bytes)).toEqual([2]);
    expect(await list({ repo: 'other' })).toEqual([]);
    const [one, two] = first.reservations;
    expect(await list({ repo: 'app', after: { repo: 'app', reservationId: one?.id ?? '' } })).toEqual([two]);
  });

  it('stands on the pages of some repos, whose cursors name none but them', async () => {
    for (const repo of ['a', 'b', 'c', 'd', 'e'])
      for (const index of [1, 2]) await world.push(repo, { [oidOf(index)]: 1 });
    const pages = await walk(async (after: Input<'listReservations'>['after']) => {
      const from = { tenant, repos: ['d', 'none', 'b'], pageSize: 1, ...(after && { after }) };
      const { reservations, next } = await listReservations(world.deps, from);
      if (next) expect(['b', 'd']).toContain(next.repo);
      return [reservations.map(({ repo }) => repo), next];
    });
    expect(pages.flat()).toEqual(['b', 'b', 'd', 'd']);
  });

  it('is listed from the cursor of another repo without that cursor: DynamoDB refuses one beyond the end', async () => {
    for (const [repo, index] of [['app', 1] as const, ['web', 2] as const])
      await world.push(repo, { [oidOf(index)]: index });
    const asked = vi.spyOn(world.ledger, 'listReservations');
    const after = { repo: 'app', reservationId: '0'.repeat(32) };
    expect((await list({ repo: 'web', after })).map(({ repo }) => repo)).toEqual(['web']);
    expect(asked.mock.calls).toEqual([[{ tenant, repo: 'web', pageSize: 100 }]]);
    asked.mockClear();
    for (const repo of ['zoo', 'web-2'])
      expect(await list({ repo: 'app', after: { ...after, repo } })).toEqual([]);
    expect(asked).not.toHaveBeenCalled();
  });
});

it('a page of reservations takes one query and one read for each repo on it', async () => {
  const counting = new CountingDeps({ tableMs: 1, headMs: 1, listMs: 1 });
  const { ledger, deps } = counting;
  await ledger.createTenant(newTenant(tenant));
  for (let index = 0; index < 50; index += 1) {
    const held = reservation(`r${index}`, { repo: `repo${index % 5}`, state: 'issued', deadAtMs: 9e15 });
    await ledger.putReservation({ tenant, reservation: held });
  }
  const { result } = await counting.measure(() =>
    listReservations(deps, { tenant, repos: null, pageSize: 20 }),
  );
  expect(result.reservations).toHaveLength(20);
  expect(counting.calls.map(({ name }) => name)).toEqual(['listReservations', 'readRepo', 'readRepo']);
});
