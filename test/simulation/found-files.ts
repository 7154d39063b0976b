import { Violation } from './invariants.ts';
import { oidName, repoName } from './names.ts';
import { askOnce } from './push.ts';
import type { TenantWorld } from './tenant-world.ts';

/**
 * Scans find what others put into the bucket. Then somebody makes repos of files of it, while others push to them with git-lfs: either
 * it becomes one of files, or the push gets a URL, which would replace files.
 */
export async function makeFound(world: TenantWorld): Promise<void> {
  const { tenant, truth, random } = world;
  // The second one finds out which are large.
  for (let run = 0; run < 2; run += 1) await world.consume({ tenant, reason: 'manual', full: true });
  for (const index of world.filesRepos) {
    const repo = repoName(index);
    const pushing = random.chance(0.5) ? pushBeside(world, repo) : undefined;
    await world.wait(random.int(0, 100));
    await makeOne(world, repo);
    const hasUrl = await pushing;
    const { kind } = (await truth.ledger.readRepo({ tenant, repo })) ?? {};
    if (kind === undefined) truth.files.delete(repo);
    else if (hasUrl) throw new Violation(`Files: ${repo} is of files, and somebody has a URL of git-lfs`);
  }
}

/** @returns whether it got a URL of git-lfs, which nobody uses. */
async function pushBeside(world: TenantWorld, repo: string): Promise<boolean> {
  await world.wait(world.random.int(0, 100));
  const oid = oidName(9);
  const verdicts = await askOnce(world, { repo, objects: new Map([[oid, world.sizeOf(oid)]]) });
  const verdict = typeof verdicts === 'object' && 'get' in verdicts ? verdicts.get(oid) : undefined;
  return verdict?.kind === 'upload' && !JSON.parse(verdict.put.href).onlyNew;
}

/** Until it's answered. */
async function makeOne(world: TenantWorld, repo: string): Promise<void> {
  for (;;) {
    const made = await world.invoke(
      async (deps, code) => {
        const beganMs = deps.clock.nowMs();
        const found = await deps.ledger.readTenant(world.tenant);
        return found && code.createRepo(deps, { tenant: found, beganMs, repo, kind: 'files' });
      },
      { mayOutlive: false },
    );
    if (typeof made === 'object') return;
    await world.wait(1_000);
  }
}
