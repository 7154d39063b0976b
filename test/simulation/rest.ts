import { shardsInForce } from '../../lambda/core/ledger/rules/shard.ts';
import type { RepoRecord } from '../../lambda/core/ledger/rules/tenant.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import { Violation } from './invariants.ts';
import type { SimSubject } from './subject.ts';
import * as subjects from './subjects.ts';
import type { TenantWorld } from './tenant-world.ts';

/** Checks a tenant in which nothing happens any more. */
export async function checkRest(world: TenantWorld): Promise<void> {
  await checkDeletes(world, 'due');
  // Reconciles of what may have changed must already be exact. A full listing must agree. It alone finds what nobody noted.
  const { truth } = world;
  const isFirstFull = truth.around.hasUnnoted(truth.aroundSinceMs) || world.invariants.needsFullListing;
  for (const full of [isFirstFull, false, true]) {
    await reconcile(world, full);
    // What is to be scanned of a large repo takes as many reconciles as the rate of its LISTs makes necessary.
    for (let runs = 1; (await hasCountsLeft(world)) || (await hasScansLeft(world)); runs += 1) {
      if (runs > largeRepoRunsMax) throw new Violation('I6: the scans of a large repo do not end');
      await reconcile(world, false);
    }
    world.invariants.checkRest();
  }
  await emptyFiles(world);
  await checkDeletes(world, 'ended');
  for (const subject of Object.values<SimSubject>(subjects)) await subject.checkRest?.(world);
  await checkRepos(world);
}

/** The last empty object of a repo that is being deleted goes after this. */
const emptyForMs = 28 * 60 * 60_000;

/** What is being deleted of files is empty once no URL can be used any more, and then what came of the last of them is over. */
async function emptyFiles(world: TenantWorld): Promise<void> {
  const isLeft = ({ kind, closedAtMs }: RepoRecord) => kind === 'files' && closedAtMs !== null;
  for (let days = 0; days < 3; days += 1) {
    if (!(await allPages(world.truth.ledger.repos(world.tenant))).some(isLeft)) return;
    await world.wait(emptyForMs);
    for (let run = 0; run < 3; run += 1) {
      await reconcile(world, true);
      await world.wait(2 * 60_000);
    }
  }
}

/** No write lands so late that the item of a repo keeps it away. */
const itemsNeededMs = 25 * 60 * 60_000;

/** A day later, repos in which nothing is have no item, unless somebody created or limited them. */
async function checkRepos(world: TenantWorld): Promise<void> {
  const { tenant, truth } = world;
  await world.wait(itemsNeededMs);
  for (let run = 0; run < 2; run += 1) await reconcile(world, false);
  const emptied = await allPages(truth.ledger.emptied({ tenant }));
  const kept = new Set(emptied.flatMap(({ repo, names }) => names.map((name) => `${repo}/${name}`)));
  const left = [...truth.marked].filter((name) => truth.isFile(name) && !kept.has(name));
  const over = emptied.filter(({ dueAtMs }) => dueAtMs + 60_000 < world.scheduler.nowMs);
  if (left.length + over.length > 0)
    throw new Violation(`Files: ${left.length} empty objects and ${over.length} records are left`);
  const limited = (await truth.ledger.readTenant(tenant))?.repoLimits;
  for (const record of await allPages(truth.ledger.repos(tenant))) {
    const { repo, createdAtMs } = record;
    // What is in no folder has an item, too.
    const isOf = (name: string) => (repo === '' ? !name.includes('/') : name.startsWith(`${repo}/`));
    const isUsed = [...truth.stored.keys()].some(isOf);
    if (!isUsed && createdAtMs === undefined && !limited?.has(repo))
      throw new Violation(`Repos: ${repo} has an item, and nothing needs it: ${JSON.stringify(record)}`);
  }
}

/** Of a count of large repos, at most. The largest of a run have some twenty shards, and a reconcile scans a few. */
export const largeRepoRunsMax = 30;

/** Reconciles once the LISTs so far are paid for. */
async function reconcile(world: TenantWorld, full: boolean): Promise<void> {
  const { listedUntilMs = 0, shardsListedUntilMs = 0 } = world.truth.record ?? {};
  await world.wait(Math.max(0, Math.max(listedUntilMs, shardsListedUntilMs) - world.scheduler.nowMs));
  await world.consume({ tenant: world.tenant, reason: 'manual', full });
}

/** Whether a large repo is being counted, for the first time or anew: a reconcile scans some of its shards. */
async function hasCountsLeft({ tenant, truth }: TenantWorld): Promise<boolean> {
  const { ledger } = truth;
  for (const { repo, large } of await allPages(ledger.repos(tenant))) {
    if (large?.isInitialScan) return true;
    if (!large) continue;
    const { inForce } = shardsInForce(await allPages(ledger.shards({ tenant, repo })), large);
    if (inForce.some(({ scannedAtMs }) => scannedAtMs < large.rescanFromMs)) return true;
  }
  return false;
}

async function hasInitialScans({ tenant, truth }: TenantWorld): Promise<boolean> {
  return (await allPages(truth.ledger.repos(tenant))).some(({ large }) => large?.isInitialScan);
}

/**
 * Whether the last reconcile has left shards in doubt because it had used up the rate of their LISTs, or because it found
 * something of which it cannot tell whether their last scan had counted it. That stays claimed, and the next scan tells.
 */
async function hasScansLeft(world: TenantWorld): Promise<boolean> {
  if (!(await hasStaleShards(world))) return false;
  const { tenant, truth, scheduler } = world;
  const { shardsListedUntilMs = 0 } = (await truth.ledger.readTenant(tenant)) ?? {};
  if (shardsListedUntilMs > scheduler.nowMs) return true;
  return (await allPages(truth.ledger.reservations(tenant))).some(({ entries }) => entries.size > 0);
}

/**
 * Whether the schedule alone may still have to scan shards in doubt. Where the rate of their LISTs is low, the last reconcile
 * may have had none left, although they would be paid for by now.
 */
export async function mayHaveScansLeft(world: TenantWorld): Promise<boolean> {
  if (world.settings.shardListsPerHour >= usualListsPerHour) return false;
  return (await hasInitialScans(world)) || (await hasStaleShards(world));
}

/** A run of the schedule scans all shards of a scenario with that. */
const usualListsPerHour = 10_000;

async function hasStaleShards({ tenant, truth }: Pick<TenantWorld, 'tenant' | 'truth'>): Promise<boolean> {
  const { ledger } = truth;
  for (const { repo, large } of await allPages(ledger.repos(tenant))) {
    if (!large) continue;
    const { inForce } = shardsInForce(await allPages(ledger.shards({ tenant, repo })), large);
    if (inForce.some(({ stale }) => stale !== null)) return true;
  }
  return false;
}

/** Whatever died or got lost, the schedule must know of every tenant, repo and object that is still to be deleted. */
async function checkDeletes(world: TenantWorld, when: 'due' | 'ended'): Promise<void> {
  const { tenant, truth, scheduler, invariants, settings } = world;
  const { ledger, stored, around } = truth;
  const record = await ledger.readTenant(tenant);
  // What is put around the API once a tenant is deleted is found when it is counted next.
  const aroundCount = when === 'due' ? around.putCount(stored) : 0;
  const left = record && record.closedAtMs !== null ? stored.size - aroundCount : 0;
  const closed = (await allPages(ledger.repos(tenant))).filter((repo) => repo.closedAtMs !== null);
  const marked = (await allPages(ledger.deletions(tenant))).filter(
    (deletion) => deletion.state !== 'deleted',
  );
  if (closed.length + marked.length + left === 0) return;
  // What was cancelled before the tenant was deleted, and arrived after that, is found when it is listed next.
  const laterMs = closed.some(({ emptyFromMs }) => emptyFromMs !== undefined) ? emptyForMs : 0;
  const dueByMs = scheduler.nowMs + (invariants.needsFullListing ? settings.idleRefreshMaxMs : laterMs);
  const isDue = ledger.dueEntries().some((entry) => entry.tenant === tenant && entry.dueAtMs <= dueByMs);
  if (when === 'due' && isDue) return;
  throw new Violation(
    `I8: ${closed.length} repos closed, ${marked.length} deletions open, ${left} objects of a closed tenant, not ${when}`,
  );
}
