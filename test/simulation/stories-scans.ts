import { minute, mishap, oids, plainStage, pushed, reconciled, type Story, scanned } from './story.ts';

/** What may happen around a reconcile. */

const second = 1_000;
const ofTenBytes = oids.map(() => 10);

/** Uploads arrive right after a scan has listed their repo. */
export const arrivedAfterScan: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  // Batches ask by HEAD, so the listings are those of scans. Reconciles come at once.
  stage: { ...plainStage, attemptsMax: undefined, settings: { headsPerList: 13, largeRepoObjects: 100_000 } },
  actions: [0, 3, 6].flatMap((oid) => [
    mishap('listPage', { kind: 'freezes-after', forMs: 4 * second }, minute),
    {
      ...pushed(oid, 'at-once', 0),
      objects: [oid, oid + 1, oid + 2].map((each) => ({ oid: each, lie: false })),
    },
    reconciled(200),
  ]),
};

/** An object that has arrived is deleted while its URL can still be used. */
export const deletedWithUrl: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  stage: plainStage,
  actions: [0, 2, 4].flatMap((oid) => [
    pushed(oid, 'at-once', second),
    { kind: 'delete-object', tenant: 0, afterMs: 10 * second, repo: 0, oid, contested: false },
    reconciled(2 * minute),
    reconciled(minute),
  ]),
};

/** Objects arrive when their reservation is nearly dead, and nobody counts them before it is. */
export const arrivedAtLast: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  stage: plainStage,
  actions: [...oids.map((oid) => pushed(oid, 'last-moment', 0)), scanned(50 * minute)],
};

/** Somebody promises himself the limit in round after round, and sends almost a day later. */
export const promisedAnew: Story = {
  tenants: [{ limitBytes: 170, imported: [] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, hasTricklers: true },
  actions: [],
};

/** The same, far below the limit. */
export const sentMuchLater: Story = {
  ...promisedAnew,
  tenants: [{ limitBytes: 1_000, imported: [] }],
  // Where operations are refused for so long, the many of a count by shards would never all succeed.
  stage: { ...promisedAnew.stage, settings: { largeRepoObjects: 100_000 } },
  // Nothing that comes after it has their repo listed.
  actions: [0, 1].map((oid) => pushed(oid, 'trickled', 360 * minute)),
};

/** The commit that gives back what never arrived lands once more. */
export const committedTwice: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 2] }],
  sizes: ofTenBytes,
  stage: plainStage,
  actions: [
    ...[1, 3, 4, 5].map((oid) => pushed(oid, 'never', second)),
    mishap('commitTenant', { kind: 'lands-again', forMs: 2 * second }, 45 * minute),
    scanned(0),
    reconciled(second),
  ],
};

/** Some of what was imported is deleted, and nothing happens after that. */
export const deletedAndLeft: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 1, 2, 3] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, settings: { largeRepoObjects: 100_000 } },
  actions: [0, 1].map((oid) => ({
    kind: 'delete-object' as const,
    tenant: 0,
    afterMs: 5 * second,
    repo: oid % 2,
    oid,
    contested: false,
  })),
};

/** Something is put beside all folders. */
export const putBesideFolders: Story = {
  tenants: [{ limitBytes: 200, imported: [0] }],
  sizes: ofTenBytes,
  stage: plainStage,
  actions: [{ kind: 'around', tenant: 0, afterMs: minute, where: 'no-folder', oid: 5, change: 'put' }],
};

/** Objects are put around the API, and the store says so. */
export const putAround: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 1] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, hasStoreEvents: true },
  actions: [2, 3].map((oid) => ({
    kind: 'around' as const,
    tenant: 0,
    afterMs: 5 * minute,
    where: 0 as const,
    oid,
    change: 'put' as const,
  })),
};

/** Every repo is a large repo. Nothing but what happens to it has its shards scanned, and that may cost as much as it takes. */
const largeRepos = {
  largeRepoObjects: 2,
  shardObjectsMax: 100,
  shardRoundMs: 7 * 24 * 60 * minute,
  shardListsPerHour: 1_000_000,
  shardListsPerRun: 20,
};

/** What is pushed to large repos arrives at once, and is counted several times. */
export const scannedInLargeRepos: Story = {
  tenants: [{ limitBytes: 200, imported: [0] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, settings: largeRepos },
  actions: [
    ...[1, 2, 3].map((oid) => pushed(oid, 'at-once', second)),
    ...[1, 2, 3].map(() => scanned(minute)),
  ],
};

/** What was imported to large repos is deleted some time later. */
export const deletedFromLargeRepos: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 2, 4, 6] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, settings: largeRepos },
  actions: [0, 2, 4].map((oid) => ({
    kind: 'delete-object' as const,
    tenant: 0,
    afterMs: 20 * minute,
    repo: 0,
    oid,
    contested: false,
  })),
};

/** Objects are put around the API to large repos, counted when they are no longer new, and deleted before they are old. */
export const deletedInDoubt: Story = {
  tenants: [{ limitBytes: 200, imported: [0] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, hasStoreEvents: false, settings: largeRepos },
  actions: [
    ...[2, 4, 6].map((oid) => ({
      kind: 'around' as const,
      tenant: 0,
      // The initial scans are over.
      afterMs: 5 * minute,
      where: 0 as const,
      oid,
      change: 'put' as const,
    })),
    { kind: 'reconcile', tenant: 0, afterMs: 20 * minute, full: true },
    ...[2, 4, 6].map((oid) => ({
      kind: 'delete-object' as const,
      tenant: 0,
      afterMs: 10 * minute,
      repo: 0,
      oid,
      contested: false,
    })),
  ],
};

/** What was imported to large repos is deleted, and the reconcile after it dies before it has corrected a shard. */
export const lapsedAfterDelete: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 2, 4, 6] }],
  sizes: ofTenBytes,
  stage: {
    ...plainStage,
    settings: largeRepos,
  },
  actions: [0, 2, 4].flatMap((oid) => [
    { kind: 'delete-object', tenant: 0, afterMs: 20 * minute, repo: 0, oid, contested: false },
    mishap('putShard', { kind: 'dies-before' }, 88 * second),
    reconciled(5 * second),
  ]),
};
