import { minute, mishap, oids, plainStage, pushed, reconciled, type Story } from './story.ts';

/** What may happen to files. Both repos are of them, so what holds for them holds for the tenant. */
const stage = {
  ...plainStage,
  filesRepos: [0, 1],
  inParts: false,
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

/** An upload is canceled, and arrives right before its name is taken. */
export const arrivedWhileCanceled: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes: ofTenBytes,
  stage,
  actions: [0, 3, 6].flatMap((oid) => [
    pushed(oid, 'soon', 5 * minute),
    mishap('putEmpty', { kind: 'freezes-before', forMs: 45_000 }, 1_000),
    { ...deleted(oid, 0), contested: true },
    handled(500),
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

const day = 24 * 60 * minute;
const repoDeleted = (afterMs: number) => ({ kind: 'delete-repo', tenant: 0, afterMs, repo: 0 }) as const;
const repoCreated = (afterMs: number) => ({ kind: 'create-repo', tenant: 0, afterMs, repo: 0 }) as const;
const expected = (oid: number, afterMs: number) =>
  ({ kind: 'expect-stored', tenant: 0, afterMs, repo: 0, oid }) as const;
/** Nothing else happens. */
const quiet = {
  ...stage,
  isSlow: false,
  hasStoreEvents: false,
  cancelsAfterMs: [],
  makers: 0,
  attemptsMax: undefined,
  settings: {
    ...stage.settings,
    listRequestsPerHour: 1_000_000,
    reconcileRestMs: 0,
    unconfirmedEntriesMax: 100_000,
  },
};

/** A first URL of a name is never used. Half an hour later its client asks again, and uses the second one as it may. */
const askedAgain: Story = {
  tenants: [{ limitBytes: 40, imported: [] }],
  sizes: ofTenBytes,
  stage: quiet,
  actions: [
    pushed(0, 'never', minute),
    // Its URL lives for 30 minutes, and the first one lapses within them.
    pushed(0, 'last-moment', 33 * minute),
    handled(5 * minute),
    expected(0, 40 * minute),
  ],
};

/** A repo is deleted while a URL is unused. It can be created again once no PUT of it can end, and blocks nobody until then. */
const createdAgain: Story = {
  tenants: [{ limitBytes: 15, imported: [] }],
  sizes: ofTenBytes,
  stage: quiet,
  actions: [
    pushed(0, 'never', minute),
    repoDeleted(5 * minute),
    handled(38 * minute),
    handled(2 * minute),
    { ...pushed(1, 'at-once', minute), repo: 1 },
    handled(6 * minute),
    { ...expected(1, 6 * minute), repo: 1 },
    ...Array.from({ length: 3 }, () => handled(28 * 60 * minute)),
    handled(5 * minute),
    repoCreated(5 * minute),
    handled(minute),
    pushed(2, 'at-once', minute),
    handled(6 * minute),
  ],
};

/** The write of a deletion lands once more after its old file is gone, and another one has come under its name. */
const deletionLandsAgain: Story = {
  tenants: [{ limitBytes: 40, imported: [] }],
  sizes: ofTenBytes,
  stage: quiet,
  actions: [
    pushed(0, 'at-once', minute),
    handled(minute),
    handled(60 * minute),
    mishap('putDeletion', { kind: 'lands-again', forMs: 2 * minute }, 3 * day),
    deleted(0, 0),
    handled(400),
    pushed(0, 'at-once', 2_000),
    handled(2 * minute),
    handled(2 * minute),
    expected(0, 6 * minute),
  ],
};

/** A repo is deleted while a name is being taken. Whoever empties it lists before the empty object lands, and is slow then. */
const openedOverEmpty: Story = {
  tenants: [{ limitBytes: 40, imported: [] }],
  sizes: ofTenBytes,
  stage: quiet,
  actions: [
    pushed(0, 'never', minute),
    mishap('putEmpty', { kind: 'freezes-before', forMs: 50_000 }, 40 * minute),
    handled(0),
    repoDeleted(15_000),
    mishap('listPage', { kind: 'freezes-after', forMs: 70_000 }, 15_000),
    handled(0),
    handled(3 * minute),
    handled(30 * minute),
  ],
};

/** Whoever takes a name freezes between its two writes, and wakes after the repo was deleted, emptied and opened. */
const takenAfterOpening: Story = {
  tenants: [{ limitBytes: 40, imported: [] }],
  sizes: ofTenBytes,
  stage: quiet,
  actions: [
    pushed(0, 'never', minute),
    mishap('putEmptied', { kind: 'freezes-after', forMs: 4 * minute }, 40 * minute),
    handled(0),
    repoDeleted(10_000),
    handled(2 * minute),
    handled(minute),
    handled(minute),
    handled(60 * minute),
  ],
};

/** Files are sent twice, once fast and once slowly, and deleted at once, again and again. Then the repo is deleted, and the empty objects with it. */
const deletedWithRepo: Story = {
  tenants: [{ limitBytes: 10, imported: [] }],
  sizes: ofTenBytes,
  stage: { ...stage, hasTricklers: true },
  actions: [
    ...oids.flatMap((oid) => [
      pushed(oid, 'twice', minute),
      handled(20_000),
      deleted(oid, 20_000),
      handled(20_000),
    ]),
    repoDeleted(minute),
    handled(3 * minute),
    handled(40 * minute),
    handled(minute),
  ],
};

/** All of them. */
export const fileStories: Readonly<Record<string, Story>> = {
  sentTwiceAndDeleted,
  arrivedWhileCanceled,
  deletedForOthers,
  deletedWhileScanned,
  askedAgain,
  createdAgain,
  deletionLandsAgain,
  openedOverEmpty,
  takenAfterOpening,
  deletedWithRepo,
};
