import { expect, it } from 'vitest';
import { sha256Hex } from '../../../../../lambda/domain/hash.ts';
import type { PathScan } from '../../../../../lambda/ports/path-scan.ts';
import { runRecount } from '../../../../../lambda/use-cases/recounts/run-recount.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

/** The most shards that a first count by shards has scanned at the same time. */
async function mostAtOnce(parallelScans: number | undefined): Promise<number> {
  const stack = new MemoryStack({ giantObjects: 40 });
  const oids = Array.from({ length: 60 }, (_, index) => sha256Hex(String(index)));
  stack.put(Object.fromEntries(oids.map((oid) => [`app/${oid}`, 3])));
  await stack.create();
  let [running, most] = [0, 0];
  const scan: PathScan = {
    ...(parallelScans !== undefined && { parallelScans }),
    scan: async (input) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return stack.deps.scan.scan(input);
    },
  };
  for (const reason of ['import', 'manual'] as const) {
    const request = { tenant, reason, full: true };
    most = 0;
    await runRecount({ ...stack.deps, scan }, { request, deadlineMs: stack.nowMs + 14 * minute });
    stack.nowMs += minute;
  }
  const { counted } = (await stack.deps.ledger.readTenant(tenant)) ?? {};
  expect(counted).toMatchObject({ objectCount: 60, storedBytes: 180 });
  return most;
}

it('a reconcile scans four shards at a time, or as many as the scan likes', async () => {
  expect(await mostAtOnce(undefined)).toBe(4);
  expect(await mostAtOnce(9)).toBe(9);
});
