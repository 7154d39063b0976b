import { describe, expect, it } from 'vitest';
import { faultMixes } from '../../mixes.ts';
import { replacing } from '../../replacing.ts';
import { firstViolation, runSeed } from '../../seeds.ts';
import { minute, oids, plainStage, type Story } from '../../story.ts';
import type { Mutant } from '../../world.ts';

/** An export is opened, and then objects of it are deleted. */
const deletedWhileExported: Story = {
  tenants: [{ limitBytes: 200, imported: [0, 1, 2, 3] }],
  sizes: oids.map(() => 10),
  stage: plainStage,
  actions: [
    { kind: 'export', tenant: 0, afterMs: minute, repo: 0, cancelAfterMs: 6 * 60 * minute },
    ...[0, 2].map((oid) => ({
      kind: 'delete-object' as const,
      tenant: 0,
      afterMs: minute,
      repo: 0,
      oid,
      contested: false,
    })),
  ],
};

/** A delete knows of no export. */
const unspared: Mutant = {
  deps: (deps) => ({
    ...deps,
    exportJobs: replacing(deps.exportJobs, { list: async () => ({ jobs: [], nextCursor: null }) }),
  }),
};

describe('deletes while an export is open', () => {
  it('keep the invariants', async () => {
    for (const [seed] of faultMixes.entries()) await runSeed(seed, { story: deletedWhileExported });
  });

  it('that know of no export are caught within 6 seeds', async () => {
    const how = { mutant: unspared, story: deletedWhileExported };
    const found = await firstViolation({ from: 0, count: 6, invariant: /^Exports/, ...how });
    expect(found?.message).toMatch(/^Exports/);
  });
});
