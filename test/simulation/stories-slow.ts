import { minute, mishap, oids, plainStage, pushed, type Story, scanned } from './story.ts';

/** What may happen while reads, listings and deletes take long. */

const second = 1_000;
const ofTenBytes = oids.map(() => 10);
/** A message of the queue is handled at this very moment. */
const handled = (afterMs: number, full: boolean) =>
  ({ kind: 'reconcile', tenant: 0, afterMs, full, isAtOnce: true }) as const;
/** Of one object of a few bytes. */
const lapsedAfterMs = 36 * minute + 10 * second;
const slowRead = { kind: 'freezes-after', forMs: 16 * second } as const;

/**
 * A claim dies while the ledger is read, and some seconds before that a batch relies on it: below the limit there is room
 * for the object because it is promised already.
 */
export const lapsedWhileRead: Story = {
  tenants: [{ limitBytes: 25, imported: [] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, settings: { putMinBytesPerSecond: 1_000_000, largeRepoObjects: 100_000 } },
  actions: [0, 3, 6].flatMap((oid) => [
    // Nothing of a round is alive in the next.
    {
      ...pushed(oid, 'never', 50 * minute),
      objects: [oid, oid + 1].map((each) => ({ oid: each, lie: false })),
    },
    // Repos are read twice: before the reconcile and, after the reservations, in it.
    mishap('repos', slowRead, lapsedAfterMs - 30 * second),
    mishap('repos', slowRead),
    handled(0, false),
    pushed(oid, 'never', 17 * second),
    pushed(oid + 1, 'never', second),
    pushed(oid, 'never', second),
  ]),
};

/** Objects of large repos are deleted slowly. Meanwhile somebody has every shard scanned. */
export const scannedWhileDeleted: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 2, 4, 6] }],
  sizes: ofTenBytes,
  stage: {
    ...plainStage,
    settings: {
      largeRepoObjects: 2,
      shardObjectsMax: 100,
      shardRoundMs: 7 * 24 * 60 * minute,
      shardListsPerHour: 1_000_000,
      shardListsPerRun: 20,
    },
  },
  actions: [0, 2, 4].flatMap((oid) => [
    { kind: 'delete-object', tenant: 0, afterMs: 20 * minute, repo: 0, oid, contested: false } as const,
    mishap('delete', { kind: 'freezes-before', forMs: 45 * second }, 85 * second),
    handled(15 * second, false),
    handled(15 * second, true),
  ]),
};

/** Of two objects the second does not fit. A smaller one does, some time later. */
export const refusedBeside: Story = {
  tenants: [{ limitBytes: 100, imported: [] }],
  sizes: oids.map((oid) => (oid % 3 === 2 ? 30 : 60)),
  stage: plainStage,
  actions: [0, 3, 6].flatMap((oid) => [
    {
      ...pushed(oid, 'never', 50 * minute),
      objects: [oid, oid + 1].map((each) => ({ oid: each, lie: false })),
    },
    scanned(minute),
    pushed(oid + 2, 'never', minute),
  ]),
};

/** A tenant is full. Somebody is refused, while usage is counted with what they ask for, and nobody counts it after that. */
export const refusedWhileScanned: Story = {
  tenants: [{ limitBytes: 100, imported: [0, 2, 4, 6] }],
  sizes: oids.map(() => 25),
  stage: {
    ...plainStage,
    isSlow: false,
    hasStoreEvents: false,
    settings: { largeRepoObjects: 100_000, reconcileRestMs: 0, listRequestsPerHour: 1_000_000 },
  },
  actions: [1, 3, 5].flatMap((oid) => [
    mishap('deleteReservation', { kind: 'freezes-before', forMs: 8 * second }, 10 * minute),
    pushed(oid, 'never', 0),
    handled(4 * second, false),
  ]),
};

/** Nobody sends a large object. When its reservation is lapsed, there is room for another. */
export const roomAfterDeath: Story = {
  tenants: [{ limitBytes: 100, imported: [] }],
  sizes: oids.map(() => 60),
  stage: { ...plainStage, settings: { putMinBytesPerSecond: 1_000_000 } },
  actions: [0, 1, 2].flatMap((oid) => [
    pushed(2 * oid, 'never', 50 * minute),
    scanned(minute),
    pushed(2 * oid + 1, 'never', 39 * minute),
  ]),
};
