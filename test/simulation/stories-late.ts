import { minute, oids, plainStage, pushed, type Story, scanned } from './story.ts';

/** What somebody may do who claims much and sends nothing. */

const second = 1_000;
/** Half of the limit, and many small ones. */
const sizes = oids.map((oid) => (oid === 0 ? 50 : 10));
const plain = {
  ...plainStage,
  cancelsAfterMs: [],
  settings: { largeRepoObjects: 100_000, putMinBytesPerSecond: 1_000_000 },
};
const claimed = (oid: number, afterMs: number, maker: number) => ({
  ...pushed(oid, 'never', afterMs),
  maker,
});

/** Half of the limit is late. Then the same person sends many batches at once. */
export const claimedAtOnce: Story = {
  tenants: [{ limitBytes: 100, imported: [] }],
  sizes,
  stage: plain,
  actions: [
    claimed(0, 0, 0),
    scanned(50 * minute),
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((oid) => claimed(oid, oid === 1 ? 10 * second : 0, 0)),
  ],
};

/** Somebody claims the limit twice and sends nothing. Others push something small. */
export const claimedTwice: Story = {
  tenants: [{ limitBytes: 100, imported: [] }],
  sizes: oids.map((oid) => (oid < 4 ? 100 : 10)),
  stage: plain,
  actions: [
    claimed(0, 0, 0),
    scanned(50 * minute),
    claimed(1, 10 * second, 0),
    claimed(2, 10 * second, 0),
    scanned(50 * minute),
    { ...pushed(4, 'at-once', 10 * second), maker: 1, mustPass: true },
  ],
};

/** The operator cancels what is still sent, and deletes the tenant. Then it arrives. */
export const cancelledAndDeleted: Story = {
  tenants: [{ limitBytes: 200, imported: [] }],
  sizes,
  stage: {
    ...plain,
    hasTricklers: true,
    scheduleMinutes: 1,
    cancelsAfterMs: [2 * 60 * minute, 2 * 60 * minute],
  },
  actions: [pushed(1, 'trickled', minute), { kind: 'delete-tenant', tenant: 0, afterMs: 4.2 * 60 * minute }],
};
