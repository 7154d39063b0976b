import { minute, oids, plainStage, pushed, type Story } from './story.ts';

/** What may happen around gc runs and downloads. */

const second = 1_000;
const ofTenBytes = oids.map(() => 10);

/** Somebody cleans up a repo of which nothing is needed. Others push what is in it again, before and meanwhile. */
export const cleanedWhilePushed: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 2, 4, 6, 8] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, areFilesLost: false },
  actions: [
    { kind: 'gc', tenant: 0, afterMs: minute, repo: 0, keep: [], isCancelled: false },
    pushed(0, 'at-once', 10 * minute),
    pushed(2, 'at-once', 5.2 * minute),
    ...[4, 6, 8, 0, 2].map((oid) => pushed(oid, 'at-once', 15 * second)),
  ],
};

/** Somebody cleans up a repo while the service has none of its own files. Others push. */
export const cleanedWithoutFiles: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 2, 4] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, areFilesLost: false, isSlow: false },
  actions: [
    { kind: 'gc', tenant: 0, afterMs: minute, repo: 0, keep: [0], isCancelled: false },
    { kind: 'outage', tenant: 0, afterMs: 14 * minute, of: 'files', forMs: 60 * minute },
    ...[6, 8].map((oid) => pushed(oid, 'at-once', 5 * minute)),
  ],
};

/** Others download the same objects again and again, up to the limit of the month. */
export const downloadedAgain: Story = {
  tenants: [{ limitBytes: 200, imported: oids }],
  sizes: ofTenBytes,
  stage: { ...plainStage, downloadLimitBytes: 300 },
  actions: Array.from({ length: 40 }, (_, index) => ({
    kind: 'download' as const,
    tenant: 0,
    afterMs: second,
    repo: index % 2,
    objects: [index % 10, (index + 2) % 10].map((oid) => ({ oid, lie: index % 7 === 0 })),
  })),
};

/** Others ask for an object while the store does not answer, and for what is not there. */
export const downloadedInVain: Story = {
  tenants: [{ limitBytes: 200, imported: [0] }],
  sizes: ofTenBytes,
  stage: { ...plainStage, isSlow: false, downloadLimitBytes: 10_000 },
  actions: [
    { kind: 'outage', tenant: 0, afterMs: minute, of: 'store', forMs: 3 * second },
    ...[0, 0, 0, 2, 4, 0].map((oid) => ({
      kind: 'download' as const,
      tenant: 0,
      afterMs: second,
      repo: 0,
      objects: [{ oid, lie: false }],
    })),
  ],
};
