import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Input } from '../../../../../lambda/core/ledger/ledger.ts';
import {
  cancelReservations,
  listReservations,
  verifyUpload,
} from '../../../../../lambda/core/ledger/reservations.ts';
import { changeIntent, type Reservation } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { newTenant, reservation } from '../../../../support/ledger-records.ts';
import { ScanningDeps } from '../../../../support/memory/counting-deps.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { walk } from '../../../../support/walk.ts';

const deathMs = 37 * minute;

let world: MemoryStack;
const put = (id: string, more: Partial<Reservation> = {}) => {
  const dead = world.nowMs - minute;
  const unconfirmed = {
    state: 'issued',
    expiresAtMs: dead,
    lapsedAtMs: dead,
    lookAtMs: world.nowMs + minute,
  } as const;
  return world.ledger.putReservation({ tenant, reservation: reservation(id, { ...unconfirmed, ...more }) });
};
const left = () => world.reservations.map(({ id }) => id);
const cancelLate = (filter: { repo?: string; id?: string; madeBy?: string } = {}) =>
  cancelReservations(world.deps, { tenant, ...filter });

beforeEach(async () => {
  world = new MemoryStack();
  await world.create(1000);
});

it('frees the room that unconfirmed entries hold beyond the limit, after a reconcile', async () => {
  for (const index of [1, 2]) {
    await world.push('app', { [oidOf(index)]: 1000 });
    world.nowMs += deathMs;
    await world.runSchedule();
  }
  expect(await world.usage()).toEqual({ committedBytes: 1000, storedBytes: 0 });
  expect(await cancelLate()).toEqual({ count: 2, bytes: 2000, hasMore: false });
  expect(world.requests.at(-1)).toMatchObject({ reason: 'manual', full: false });
  await world.consume();
  expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
});

it('leaves what is alive, pending, or is to be looked at', async () => {
  await put('alive', { lapsedAtMs: world.nowMs, lookAtMs: null });
  await put('pending', { state: 'pending', lookAtMs: null });
  await put('unseen', { lookAtMs: null });
  // A large repo's, of which a part was found: by a clock that is ahead.
  await put('partly', { lookAtMs: world.nowMs + 2 * world.deps.settings.clockSkewMs });
  // Looked at by a clock that is ahead, while its URLs are still valid by this one.
  await put('early', { lapsedAtMs: world.nowMs + minute, lookAtMs: world.nowMs + 5 * minute });
  await put('late');
  expect(await cancelLate()).toEqual({ count: 1, bytes: 10, hasMore: false });
  expect(left().sort()).toEqual(['alive', 'early', 'partly', 'pending', 'unseen']);
});

/** What a delete expects once more, made then. */
const putOfDelete = (createdAtMs: number) => put('~d', { createdAtMs, deletedByMs: world.nowMs });

it.each([
  ['was lapsed before it and waits for its look', -minute, 1, true],
  // By this clock. The delete was made by one that is ahead.
  ['is lapsed soon, and was before it by its clock', 1, 2, true],
  ['was lapsed after it', -minute, -1, false],
])('what a delete expects once more stays only beside one that %s', async (_, lapsesInMs, afterMs, stays) => {
  const lapsedAtMs = world.nowMs + lapsesInMs;
  await put('late', { lookAtMs: null, lapsedAtMs });
  await putOfDelete(lapsedAtMs + afterMs);
  expect((await cancelLate()).count).toBe(stays ? 0 : 1);
  expect(left().includes('~d')).toBe(stays);
});

it('leaves what a delete expects once more of what is not named', async () => {
  await put('late');
  await putOfDelete(world.nowMs);
  expect((await cancelLate({ id: '~d' })).count).toBe(0);
  expect((await cancelLate()).count).toBe(2);
});

it('takes those that are named', async () => {
  await put('a', { madeBy: 'ada' });
  await put('b', { madeBy: 'ben' });
  await put('c', { madeBy: 'ada', repo: 'web' });
  await put('d');
  await cancelLate({ madeBy: 'ada', repo: 'web' });
  expect(left().sort()).toEqual(['a', 'b', 'd']);
  await cancelLate({ id: 'b' });
  expect(left().sort()).toEqual(['a', 'd']);
  await cancelLate({ madeBy: 'ada' });
  expect(left()).toEqual(['d']);
  await cancelLate({ repo: 'web' });
  expect(left()).toEqual(['d']);
});

it('takes a thousand at a time, and reconciles only if it took any', async () => {
  for (let index = 0; index < 1001; index += 1) await put(`r${index}`);
  expect(await cancelLate()).toEqual({ count: 1000, bytes: 10_000, hasMore: true });
  expect(await cancelLate()).toEqual({ count: 1, bytes: 10, hasMore: false });
  const { length } = world.requests;
  expect(await cancelLate()).toEqual({ count: 0, bytes: 0, hasMore: false });
  expect(world.requests).toHaveLength(length);
});

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

  it('is issued until it is lapsed, and says until when', async () => {
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

  it('has arrived once a count has seen all of it, and is not shown any more when it is lapsed', async () => {
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
    const lapsedMs = world.nowMs + lifeMs;
    await world.push('app', { [oidOf(1)]: 10, [oidOf(2)]: 5 });
    world.put({ [`app/${oidOf(1)}`]: 10 });
    world.nowMs = lapsedMs;
    expect(await list()).toMatchObject([{ state: 'issued', heldUntilMs: lapsedMs }]);
    world.nowMs += 1;
    const unconfirmed = { state: 'unconfirmed', heldUntilMs: lapsedMs + day };
    expect(await list()).toMatchObject([{ ...unconfirmed, objectCount: 2, bytes: 15 }]);
    await world.consume();
    expect(await list()).toMatchObject([{ ...unconfirmed, objectCount: 1, bytes: 5 }]);
    world.nowMs = lapsedMs + day + 1;
    await world.consume();
    expect(await list()).toEqual([]);
  });

  it('is pending until its batch has issued it, and never late if that died', async () => {
    const lapsedAtMs = world.nowMs + lifeMs;
    const times = { createdAtMs: world.nowMs, expiresAtMs: world.nowMs + 31 * minute, lapsedAtMs };
    await world.ledger.putReservation({ tenant, reservation: reservation('r', times) });
    const pending = { id: 'r', state: 'pending', heldUntilMs: lapsedAtMs };
    expect(await list()).toMatchObject([pending]);
    world.nowMs += lifeMs + 1;
    expect(await list()).toMatchObject([pending]);
  });

  it('is not a note that the store reported a change', async () => {
    const { settings } = world.deps;
    const note = changeIntent(settings, { id: 'note', repo: 'app', nowMs: world.nowMs });
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
  const counting = new ScanningDeps({ tableMs: 1, headMs: 1, listMs: 1 });
  const { ledger, deps } = counting;
  await ledger.createTenant(newTenant(tenant));
  for (let index = 0; index < 50; index += 1) {
    const held = reservation(`r${index}`, { repo: `repo${index % 5}`, state: 'issued', lapsedAtMs: 9e15 });
    await ledger.putReservation({ tenant, reservation: held });
  }
  const { result } = await counting.measure(() =>
    listReservations(deps, { tenant, repos: null, pageSize: 20 }),
  );
  expect(result.reservations).toHaveLength(20);
  expect(counting.calls.map(({ name }) => name)).toEqual(['listReservations', 'readRepo', 'readRepo']);
});

const oid = oidOf(1);

describe('a verify', () => {
  let world: MemoryStack;
  let verifyToken: string;
  const verify = (more: Partial<Parameters<typeof verifyUpload>[1]> = {}) =>
    verifyUpload(world.deps, { tenant, repo: 'app', oid, sizeBytes: 10, verifyToken, ...more });
  const reservation = () => {
    const [found] = world.reservations;
    if (!found) throw new Error('There is no reservation.');
    return found;
  };

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(100);
    const verdicts = await world.push('app', { [oid]: 10 });
    const verdict = typeof verdicts === 'string' ? undefined : verdicts.get(oid);
    if (verdict?.kind !== 'upload' || !verdict.verifyToken) throw new Error('It is not to be verified.');
    ({ verifyToken } = verdict);
    world.put({ [`app/${oid}`]: 10 });
    world.requests.length = 0;
  });

  it('says whether the upload arrived, requests a reconcile, and writes nothing', async () => {
    const before = reservation();
    expect(await verify()).toEqual({ kind: 'verified' });
    expect(world.requests).toEqual([{ tenant, reason: 'verify', full: false }]);
    expect(await verify({ sizeBytes: 11 })).toEqual({ kind: 'wrong-size', storedBytes: 10 });
    await world.objects.delete([`${tenant}/app/${oid}`]);
    expect(await verify()).toEqual({ kind: 'missing' });
    expect(reservation()).toEqual(before);
  });

  it('is answered until its reservation is lapsed, and not after that', async () => {
    world.nowMs = reservation().lapsedAtMs;
    expect(await verify()).toEqual({ kind: 'verified' });
    world.requests.length = 0;
    world.nowMs += 1;
    expect(await verify()).toEqual({ kind: 'unauthenticated' });
    expect(world.requests).toEqual([]);
  });

  it.each<[string, Partial<Parameters<typeof verifyUpload>[1]>]>([
    ['without a token', { verifyToken: undefined }],
    ['with an empty token', { verifyToken: '' }],
    ['with another token', { verifyToken: 'lfsv_other' }],
    ['of another repo', { repo: 'web' }],
    ['of an object that was not reserved', { oid: oidOf(2) }],
  ])('%s is refused, and the store is not asked', async (_, change) => {
    // It refuses a key in an adopted path, which a stranger can name.
    world.deps.store.head = () => Promise.reject(new Error('The store was asked.'));
    expect(await verify(change)).toEqual({ kind: 'unauthenticated' });
    expect(world.requests).toEqual([]);
  });

  it('by a reservation that was not issued is refused', async () => {
    const { id: reservationId, repo } = reservation();
    const pending = { ...reservation(), state: 'pending' } as const;
    await world.ledger.deleteReservation({ tenant, repo, reservationId });
    await world.ledger.putReservation({ tenant, reservation: pending });
    expect(await verify()).toEqual({ kind: 'unauthenticated' });
  });
});
