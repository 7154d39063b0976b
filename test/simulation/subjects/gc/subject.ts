import { allPages } from '../../../../lambda/core/rules/async.ts';
import { sha256Hex } from '../../../../lambda/core/rules/hash.ts';
import { prefixesOf } from '../../../../lambda/core/rules/prefix-set.ts';
import { createDynamoDbGcRuns } from '../../../../lambda/subjects/gc/gc-store.ts';
import { isUnderWay, reachableSetKey } from '../../../../lambda/subjects/gc/rules/gc.ts';
import type { Code } from '../../code.ts';
import { Violation } from '../../invariants.ts';
import type { GarbageWish, SimSubject } from '../../subject.ts';
import type { TenantWorld } from '../../tenant-world.ts';
import type { gc as gcCode } from './code.ts';

const minute = 60_000;
/** Attempts at a request. Then they give it up. */
const attemptsMax = 10;

/** Of the version that is invoked. */
const its = (version: Code) => version as Code & (typeof gcCode)['code'];

async function untilAnswered<T>(
  world: TenantWorld,
  ask: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await world.wait(world.random.int(1_000, 20_000));
  }
  return undefined;
}

/** Whoever is told afterwards that an object is stored relies on it. */
async function collectGarbage(world: TenantWorld, wish: GarbageWish): Promise<void> {
  const { tenant, invariants, scheduler, settings } = world;
  const { repo, oids, keep } = wish;
  const path = { tenant, repo };
  const opened = await untilAnswered(world, async () => {
    const result = await world.invoke((deps, version) => its(version).openGc(deps, path), {
      mayOutlive: false,
    });
    return typeof result === 'object' && result.answer.kind !== 'busy' ? result.answer : undefined;
  });
  if (opened?.kind !== 'open') return;
  world.coverage.gcs += 1;
  await world.wait(settings.gcWatchMs + 3 * settings.clockSkewMs);
  for (const oid of oids) if (!keep.has(oid)) invariants.requestDeletion({ repo, oid }, scheduler.nowMs);
  const bytes = prefixesOf([...keep]);
  const reachableSha256 = sha256Hex(bytes);
  await world.archives.put(reachableSetKey(path), bytes);
  const run = { reachableCount: keep.size, reachableSha256, isDryRun: false, isForced: true, minAgeMs: 0 };
  await untilAnswered(world, async () => {
    const result = await world.invoke((deps, version) => its(version).startRun(deps, { ...path, ...run }));
    return typeof result === 'object' ? result.answer : undefined;
  });
  if (!wish.isCancelled) return;
  await world.wait(world.random.int(0, 3 * minute));
  await world.invoke((deps, version) => its(version).cancelGc(deps, path));
}

/** A watch is over by now, and nothing of its gc run is left to be done. */
async function checkRest({ tenant, truth, areFilesLost }: TenantWorld): Promise<void> {
  for (const { repo } of await allPages(truth.ledger.repos(tenant))) {
    const gc = await createDynamoDbGcRuns(truth.ledger.table).read({ tenant, repo });
    if (gc && !areFilesLost && (isUnderWay(gc) || gc.dueAtMs !== null))
      throw new Violation(`I8: a gc run is left ${gc.state}, due at ${gc.dueAtMs}`);
  }
}

export const gc = {
  least: { gcs: 0.028 },
  collectGarbage,
  checkRest,
} satisfies SimSubject;
