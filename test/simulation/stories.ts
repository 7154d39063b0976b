import { minute, mishap, oids, plainStage, pushed, type Story } from './story.ts';

/** Each of ten objects is deleted just when others push it again. */
export const wantedWhileDeleted: Story = {
  tenants: [{ limitBytes: 200, imported: oids }],
  sizes: oids.map(() => 10),
  actions: oids.map((oid) => ({
    kind: 'delete-object',
    tenant: 0,
    afterMs: 20_000,
    repo: oid % 2,
    oid,
    contested: true,
  })),
};

/** Three tenants bring objects along, and their first reconciles die. Nobody does anything after that. */
export const importedAndLeft: Story = {
  tenants: [0, 1, 2].map(() => ({ limitBytes: 200, imported: [0, 1, 2] })),
  sizes: oids.map(() => 10),
  // A message that fails is not delivered again.
  stage: { ...plainStage, attemptsMax: 1 },
  actions: [0, 1, 2].map(() => mishap('beginReconcile', { kind: 'dies-before' })),
};

/** Somebody pushes to a new repo, and sends nothing. */
export const sentNothing: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: oids.map(() => 10),
  stage: plainStage,
  actions: [pushed(0, 'never', minute)],
};

/** A repo is deleted, and nobody uses it again. */
export const deletedForever: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 1, 2] }],
  sizes: oids.map(() => 10),
  stage: plainStage,
  actions: [{ kind: 'delete-repo', tenant: 0, afterMs: minute, repo: 0 }],
};

/** A repo is deleted, and soon the same objects are pushed to it again, twice. */
export const usedAgain: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 2, 4] }],
  sizes: oids.map(() => 10),
  actions: [
    { kind: 'delete-repo', tenant: 0, afterMs: 1_000, repo: 0 },
    ...[0, 2, 4, 0, 2, 4].map((object, index) => ({
      ...pushed(object, 'at-once', (index === 0 ? 4 : 1) * minute),
      verify: true,
    })),
  ],
};

/** Others ask for what is beside an object when that is deleted, and for the object soon after the record of it may go. */
export const missedSoon: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 2] }],
  sizes: oids.map(() => 10),
  // Batches of one object list, and reconciles come at once.
  stage: { ...plainStage, attemptsMax: undefined, settings: { headsPerList: 1, largeRepoObjects: 100_000 } },
  actions: [
    { kind: 'delete-object', tenant: 0, afterMs: 1_000, repo: 0, oid: 0, contested: false },
    pushed(2, 'at-once', 1.4 * minute),
    ...Array.from({ length: 8 }, () => pushed(2, 'at-once', 1_000)),
    ...Array.from({ length: 20 }, (_, index) => [
      { kind: 'reconcile', tenant: 0, afterMs: 2_000, full: false } as const,
      pushed(index < 16 ? 2 : 0, 'at-once', 500),
    ]).flat(),
    ...Array.from({ length: 8 }, () => pushed(0, 'at-once', 700)),
  ],
};

/** Large objects are sent at the last moment, beside small ones. Most of their time is over when others push again. */
export const sentSlowly: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: [60, 60, 60, 1, 2, 3, 60, 60, 60, 60],
  actions: [
    ...[0, 1, 2, 3, 4, 5].map((object) => pushed(object, 'last-moment', 0)),
    { kind: 'reconcile', tenant: 0, afterMs: 39 * minute, full: false },
    ...[6, 7, 8, 9].map((object) => pushed(object, 'at-once', 2 * minute)),
  ],
};

/** A delete is tried again and again while the store is down for two days, and every time leaves a note. */
export const deletedInOutage: Story = {
  tenants: [{ limitBytes: 200, imported: oids }],
  sizes: oids.map(() => 10),
  actions: [
    { kind: 'delete-object', tenant: 0, afterMs: 5 * minute, repo: 0, oid: 0, contested: false },
    { kind: 'outage', tenant: 0, afterMs: 1_000, of: 'store', forMs: 60 * 60 * minute },
  ],
};

/**
 * More batches claim one object than a repo's item can hold ids of. The item is smaller than DynamoDB allows, so that
 * 5,600 are too many already.
 */
export const manyReservations: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: oids.map(() => 10),
  table: { pageSize: 1_000, itemBytesMax: 180_000 },
  actions: [
    { kind: 'crowd', tenant: 0, afterMs: 1_000, repo: 0, oid: 0, batches: 5_600 },
    pushed(0, 'at-once', 1_000),
    { kind: 'reconcile', tenant: 0, afterMs: 5_000, full: false },
  ],
};
