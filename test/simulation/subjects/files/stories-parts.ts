import { minute, mishap, oids, plainStage, pushed, type Story } from '../../story.ts';

/** Both repos are of files, and each file has two parts. */
const stage = {
  ...plainStage,
  filesRepos: [0, 1],
  inParts: true,
  settings: { putMinBytesPerSecond: 1_000_000, largeRepoObjects: 100_000, objectBytesMax: 20 },
};
const ofTwoParts = oids.map(() => 30);
const canceled = (oid: number, afterMs: number) =>
  ({ kind: 'delete-object', tenant: 0, afterMs, repo: 0, oid, contested: true }) as const;
/** A message of the queue is handled at this very moment. */
const handled = (afterMs: number) =>
  ({ kind: 'reconcile', tenant: 0, afterMs, full: false, isAtOnce: true }) as const;

/** Uploads are canceled while they are being completed. */
export const canceledWhileCompleted: Story = {
  tenants: [{ limitBytes: 100, imported: [] }],
  sizes: ofTwoParts,
  stage,
  actions: oids.flatMap((oid) => [
    pushed(oid, 'at-once', 10_000),
    ...[500, 500, 1_000].map((afterMs) => canceled(oid, afterMs)),
    handled(500),
  ]),
};

/** Files are uploaded to a large repo, which isn't listed for each. */
export const madeInLargeRepo: Story = {
  tenants: [{ limitBytes: 1_000, imported: [] }],
  sizes: ofTwoParts,
  stage: { ...stage, settings: { ...stage.settings, largeRepoObjects: 1, shardObjectsMax: 100 } },
  actions: oids.flatMap((oid) => [pushed(oid, 'at-once', 10_000), handled(10_000)]),
};

/** Two people upload each file at the same time. */
export const sentByTwo: Story = {
  tenants: [{ limitBytes: 1_000, imported: [] }],
  sizes: ofTwoParts,
  stage: { ...stage, makers: 0 },
  actions: oids.flatMap((oid) => [
    pushed(oid, 'at-once', 10_000),
    pushed(oid, 'soon', 100),
    { ...pushed(oid, 'at-once', 100), objects: [{ oid, lie: true }] },
  ]),
};

/** A repo is deleted while its files are uploaded. */
export const deletedWhileSent: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTwoParts,
  stage,
  actions: [
    ...oids.slice(0, 5).map((oid) => pushed(oid, 'soon', 1_000)),
    { kind: 'delete-repo', tenant: 0, afterMs: 30_000, repo: 0 },
    ...Array.from({ length: 4 }, () => handled(minute)),
  ],
};

/** Whoever ends an upload dies between its steps. */
export const endedByTheDying: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTwoParts,
  stage,
  actions: oids.flatMap((oid) => [
    pushed(oid, 'at-once', 10_000),
    mishap('endChunked', { kind: 'dies-before' }),
    canceled(oid, 2_000),
    handled(minute),
  ]),
};
