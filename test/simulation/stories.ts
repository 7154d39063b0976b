import type { Scenario } from './scenario.ts';

/** A scenario written by hand, for what random ones rarely meet. Each seed gives it other latencies and faults. */
export type Story = Omit<Scenario, 'seed'>;

const oids = Array.from({ length: 10 }, (_, oid) => oid);

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

/** Three tenants bring objects along, and nobody does anything after that. */
export const importedAndLeft: Story = {
  tenants: [0, 1, 2].map(() => ({ limitBytes: 200, imported: [0, 1, 2] })),
  sizes: oids.map(() => 10),
  actions: [],
};
