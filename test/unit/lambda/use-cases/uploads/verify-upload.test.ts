import { beforeEach, describe, expect, it } from 'vitest';
import { verifyUpload } from '../../../../../lambda/use-cases/uploads/verify-upload.ts';
import { MemoryStack, oidOf, tenant } from '../../../../support/memory/stack.ts';

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

  it('says whether the upload arrived, requests a recount, and writes nothing', async () => {
    const before = reservation();
    expect(await verify()).toEqual({ kind: 'verified' });
    expect(world.requests).toEqual([{ tenant, reason: 'verify', full: false }]);
    expect(await verify({ sizeBytes: 11 })).toEqual({ kind: 'wrong-size', storedBytes: 10 });
    await world.objects.delete([`${tenant}/app/${oid}`]);
    expect(await verify()).toEqual({ kind: 'missing' });
    expect(reservation()).toEqual(before);
  });

  it('is answered until its reservation is dead, and not after that', async () => {
    world.nowMs = reservation().deadAtMs;
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
  ])('%s is refused', async (_, change) => {
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
