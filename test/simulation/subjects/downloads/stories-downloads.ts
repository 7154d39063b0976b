import { minute, oids, plainStage, type Story } from '../../story.ts';

const second = 1_000;
const ofTenBytes = oids.map(() => 10);

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
