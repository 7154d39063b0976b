import { describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { verifyUpload } from '../../../../../lambda/core/ledger/reservations.ts';
import { newDeletion, singleDeletionId } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { reservationIdOf } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { newTenant, reservation } from '../../../../support/ledger-records.ts';
import { ScanningDeps } from '../../../../support/memory/counting-deps.ts';

const tenant = 'acme';
const roundTripMs = 10;
const oid = (index: number) => index.toString(16).padStart(64, '0');

/** Every call takes one round trip of the same length, so the elapsed time counts the consecutive round trips. */
async function setUp(limitBytes: number) {
  const made = new ScanningDeps({ tableMs: roundTripMs, headMs: roundTripMs, listMs: roundTripMs });
  const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: made.deps.clock.nowMs() };
  await made.ledger.createTenant(newTenant(tenant, { limitBytes, scanned }));
  const record = await made.ledger.readTenant(tenant);
  if (!record) throw new Error('No tenant.');
  return { made, record };
}

const tenantItemWrites = [
  'addCommitted',
  'beginReconcile',
  'setLease',
  'commitTenant',
  'updateTenant',
  'announceDelete',
];

describe('after authentication', () => {
  it.each([
    { n: 1, heads: 1, lists: 0 },
    { n: 10, heads: 10, lists: 0 },
    // One LIST costs less than 100 HEADs.
    { n: 100, heads: 0, lists: 1 },
  ])(
    'a batch of $n new objects takes three round trips and one write to the tenant item',
    async ({ n, heads, lists }) => {
      const { made, record } = await setUp(1e9);
      const { deps, calls } = made;
      const objects = new Map(Array.from({ length: n }, (_, index) => [oid(index), 1000]));
      const { result, elapsedMs } = await made.measure(() =>
        admitUpload(deps, { tenant: record, repo: 'app', objects }),
      );
      expect(
        result.kind === 'answered' && [...result.verdicts.values()].every(({ kind }) => kind === 'upload'),
      ).toBe(true);
      expect(elapsedMs).toBe(3 * roundTripMs);
      expect(calls.filter(({ name }) => name === 'HEAD')).toHaveLength(heads);
      expect(calls.filter(({ name }) => tenantItemWrites.includes(name))).toHaveLength(1);
      const add = calls.find(({ name }) => name === 'addCommitted');
      const send = calls.find(({ name }) => name === 'SEND');
      expect(add?.beganMs).toBe(send?.beganMs);
      expect(calls.filter(({ name }) => name === 'LIST')).toHaveLength(lists);
    },
  );

  it.each([0, 3, 2_000])('so does a batch of 100 while %i others are marked', async (marked) => {
    const { made } = await setUp(1e9);
    const { ledger, deps, calls } = made;
    for (let index = 0; index < marked; index += 1) {
      const id = singleDeletionId(oid(1000 + index));
      const objects = new Map([[oid(1000 + index), 1]]);
      const deletion = newDeletion({ id, repo: 'app', objects, dueAtMs: 9e15 });
      await ledger.putDeletion({ tenant, deletion });
    }
    await ledger.countDeletions({ tenant, difference: marked });
    const record = await ledger.readTenant(tenant);
    if (!record) throw new Error('No tenant.');
    const objects = new Map(Array.from({ length: 100 }, (_, index) => [oid(index), 1000]));
    const { elapsedMs } = await made.measure(() =>
      admitUpload(deps, { tenant: record, repo: 'app', objects }),
    );
    expect(elapsedMs).toBe(3 * roundTripMs);
    const reads = calls.map(({ name }) => name).filter((name) => name.startsWith('deletions'));
    expect(reads).toEqual([marked > 100 ? 'deletionsNaming' : 'deletionsOf']);
  });

  it('a verify takes one HEAD and one read, and writes nothing to the ledger', async () => {
    const { made } = await setUp(1e9);
    const { ledger, store, deps, calls } = made;
    const verifyToken = 'lfsv_token';
    const entries = new Map([[oid(1), 7]]);
    const issued = reservation(reservationIdOf(verifyToken), { state: 'issued', entries, lapsedAtMs: 9e15 });
    await ledger.putReservation({ tenant, reservation: issued });
    store.put(`${tenant}/app/${oid(1)}`, 7);
    const ask = () => verifyUpload(deps, { tenant, repo: 'app', oid: oid(1), sizeBytes: 7, verifyToken });
    expect((await made.measure(ask)).result).toEqual({ kind: 'verified' });
    expect(calls.map(({ name }) => name).sort()).toEqual(['HEAD', 'SEND', 'readReservation']);
  });
});
