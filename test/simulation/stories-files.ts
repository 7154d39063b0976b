import { minute, mishap, oids, plainStage, pushed, reconciled, type Story } from './story.ts';

/** What may happen to files. Both repos are of them, so what holds for them holds for the tenant. */
const stage = {
  ...plainStage,
  filesRepos: [0, 1],
  settings: { putMinBytesPerSecond: 1_000_000, largeRepoObjects: 100_000, deleteGraceMs: 90_000 },
};

const ofTenBytes = oids.map(() => 10);
const deleted = (oid: number, afterMs: number) =>
  ({ kind: 'delete-object', tenant: 0, afterMs, repo: 0, oid, contested: false }) as const;
/** A message of the queue is handled at this very moment. */
const handled = (afterMs: number) =>
  ({ kind: 'reconcile', tenant: 0, afterMs, full: false, isAtOnce: true }) as const;

/** A file arrives, and is deleted while another PUT of its URL is under way, which ends much later. */
export const sentTwiceAndDeleted: Story = {
  tenants: [{ limitBytes: 40, imported: [] }],
  sizes: ofTenBytes,
  stage: { ...stage, hasTricklers: true },
  actions: [0, 3, 6].flatMap((oid) => [
    pushed(oid, 'twice', minute),
    deleted(oid, minute),
    reconciled(minute),
    // A day has many.
    ...Array.from({ length: 4 }, () => handled(70 * minute)),
  ]),
};

/** The limit is full of one file. It's deleted, and as soon as the room is free the next one comes. */
export const deletedForOthers: Story = {
  tenants: [{ limitBytes: 15, imported: [] }],
  sizes: ofTenBytes,
  stage,
  actions: [0, 1, 2, 3, 4].flatMap((oid) => [
    pushed(oid, 'at-once', 10_000),
    handled(10_000),
    deleted(oid, 5_000),
    handled(1_000),
  ]),
};

/** A reconcile lists while a file is deleted, and has seen it. */
export const deletedWhileScanned: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  stage,
  actions: [0, 3, 6].flatMap((oid) => [
    pushed(oid, 'at-once', minute),
    handled(minute),
    deleted(oid, 2 * minute),
    mishap('commitRepo', { kind: 'freezes-before', forMs: 20_000 }),
    handled(100),
    handled(5_000),
  ]),
};
