import { minute, oids, plainStage, pushed, type Story } from './story.ts';

/** What may happen around gc runs. */

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
