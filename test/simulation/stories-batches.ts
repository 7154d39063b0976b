import { minute, mishap, oids, plainStage, pushed, reconciled, type Story, scanned } from './story.ts';

/** What may happen to a batch before, between and after its round trips. */

const second = 1_000;
/** Each round has time to end before the next one begins. */
const rounds = oids.slice(0, 8);
const ofTenBytes = oids.map(() => 10);
const noLargeRepos = { largeRepoObjects: 100_000 };

/**
 * Batches are frozen before they issue their reservation, until a reconcile has voided it. Few functions go on for so long,
 * and few clients wait.
 */
export const voidedWhileFrozen: Story = {
  tenants: [{ limitBytes: 300, imported: [] }],
  sizes: ofTenBytes,
  stage: plainStage,
  actions: [0, 1].flatMap((repo) =>
    oids.flatMap((oid) => [
      mishap('issueReservation', { kind: 'freezes-before', forMs: 2 * minute }, minute),
      { ...pushed(oid, 'never', 0), repo },
      scanned(75 * second),
      scanned(10 * second),
    ]),
  ),
};

/** The same, before they look at the clock. The write of their reservation lands once more after it was voided. */
export const backWhileFrozen: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  // The function is still within its time limit then, though the batch is not.
  stage: { ...plainStage, settings: { batchTimeLimitMs: 4 * second, pendingVoidAfterMs: 15 * second } },
  actions: rounds.flatMap((oid) => [
    mishap('putReservation', { kind: 'lands-again', forMs: 21 * second }, minute),
    mishap('addCommitted', { kind: 'freezes-after', forMs: 22 * second }),
    pushed(oid, 'never', 0),
    scanned(17 * second),
    scanned(2 * second),
  ]),
};

/** Usage is counted between a batch's second round trip and its third. */
export const scannedBeforeIssue: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  stage: plainStage,
  actions: rounds.flatMap((oid) => [
    mishap('issueReservation', { kind: 'freezes-before', forMs: 8 * second }, minute),
    pushed(oid, 'never', 0),
    scanned(1 * second),
    scanned(2 * second),
  ]),
};

/** An object was listed for a batch, and is gone when another asks for it some minutes later. */
export const listedLongAgo: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 2] }],
  sizes: ofTenBytes,
  // Batches of one object find out by listing what is stored.
  stage: { ...plainStage, settings: { headsPerList: 1, ...noLargeRepos } },
  actions: [
    pushed(2, 'at-once', 2 * second),
    { kind: 'delete-object', tenant: 0, afterMs: 5 * second, repo: 0, oid: 0, contested: false },
    reconciled(2 * minute),
    reconciled(minute),
    ...[3, 4, 5].map((minutes) => pushed(0, 'never', minutes * minute)),
  ],
};

/** One object is pushed to both repos, and nobody sends it. */
export const claimedInBoth: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  stage: plainStage,
  actions: [0, 1, 2].flatMap((oid) => [
    pushed(oid, 'never', minute),
    { ...pushed(oid, 'never', 0), repo: 1 },
    scanned(10 * second),
    reconciled(second),
  ]),
};

/** One object is claimed with a false size, and with its own. Nobody sends it. */
export const claimedInTwoSizes: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  stage: plainStage,
  actions: [0, 1, 2].flatMap((oid) => [
    { ...pushed(oid, 'never', minute), objects: [{ oid, lie: true }] },
    pushed(oid, 'never', 0),
    scanned(10 * second),
    reconciled(second),
  ]),
};

/** An object that one tenant has claimed does not fit below the limit of another. */
export const claimedByOthers: Story = {
  tenants: [
    { limitBytes: 200, imported: [] },
    { limitBytes: 25, imported: [] },
  ],
  sizes: oids.map((oid) => (oid % 2 === 0 ? 20 : 10)),
  stage: plainStage,
  actions: [0, 2, 4].flatMap((oid) => [
    pushed(oid, 'never', second),
    { ...pushed(1, 'never', 10 * second), tenant: 1 },
    { ...pushed(oid, 'never', 10 * second), tenant: 1 },
  ]),
};

/** Many PUTs break off. Then they are verified, and sent again. */
export const brokenAndVerified: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: oids.map(() => 2),
  stage: plainStage,
  actions: [0, 1].flatMap((repo) =>
    oids.flatMap((oid) => [
      { ...pushed(oid, 'at-once', 5 * second), repo, verify: true },
      ...(oid % 2 === 0 ? [] : [scanned(second)]),
    ]),
  ),
};

/** One object is pushed by two at once, which adds it twice. Beside it another one just fits. */
export const addedTwice: Story = {
  tenants: [{ limitBytes: 25, imported: [] }],
  sizes: ofTenBytes,
  stage: plainStage,
  // Nothing of a round is alive in the next.
  actions: [0, 2, 4].flatMap((oid) => [
    pushed(oid, 'never', 50 * minute),
    pushed(oid, 'never', 0),
    pushed(oid + 1, 'never', 150),
  ]),
};
