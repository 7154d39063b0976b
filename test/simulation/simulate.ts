import { lateForMs } from '../../lambda/domain/reservation.ts';
import { createTenant } from '../../lambda/use-cases/access/create-tenant.ts';
import { allPages } from '../../lambda/use-cases/all-pages.ts';
import { deleteRepo, deleteTenant, markObject } from '../../lambda/use-cases/deletes/delete-objects.ts';
import { getSubscription } from '../../lambda/use-cases/recounts/get-subscription.ts';
import { refresh } from '../../lambda/use-cases/recounts/refresh.ts';
import { MemoryTokenStore } from '../support/memory/token-store.ts';
import type { Mix } from './actor.ts';
import type { Coverage } from './coverage.ts';
import { Violation } from './invariants.ts';
import { oidName, repoName, tenantName } from './names.ts';
import { push } from './push.ts';
import type { Action, AroundAction, DeleteObjectAction, Scenario } from './scenario.ts';
import { TenantWorld } from './tenant-world.ts';
import { type Mutant, World } from './world.ts';

const minute = 60_000;
/** How long after the last action faults stop. Clients that still retry then come to an end. */
const calmAfterMs = 10 * minute;
/** Longer than the largest object of a scenario takes at the lowest rate, and every reservation made before is dead. */
const restAfterMs = 90 * minute;
/** Runs of the schedule after the last look for objects of dead reservations. */
const healingRuns = 3;
/** At rest the schedule runs less often, to save time. */
type Stage = 'acting' | 'resting' | 'over';
/** DynamoDB promises no bound. Usually it is less than a second. */
const indexBehindMs = 5 * minute;
/** How many clients push an object while it is being deleted. */
const contestersCount = 4;

/**
 * Runs one scenario to its end, checking the invariants after every step.
 *
 * @throws {Violation} when one is broken.
 */
export async function simulate(scenario: Scenario, input: { mix: Mix; mutant?: Mutant }): Promise<Coverage> {
  const tenants = scenario.tenants.map((_, index) => ({
    hasLies: scenario.actions.some(
      (action) =>
        action.kind === 'push' &&
        tenantOf(scenario, action) === index &&
        action.objects.some(({ lie }) => lie),
    ),
  }));
  const sizes = withTrickled(scenario.sizes);
  const world = new World({ seed: scenario.seed, sizes, tenants, ...input });
  world.coverage.tenants += tenants.length;
  scenario.tenants.forEach(({ imported }, index) => {
    for (const oid of imported) {
      const object = { repo: repoName(oid % 2), oid: oidName(oid), sizeBytes: scenario.sizes[oid] ?? 0 };
      world.account(tenantName(index)).truth.land(object, world.scheduler.nowMs);
    }
  });
  world.start(0, () => play(world, scenario));
  await world.run();
  return world.coverage;
}

/** The index of the tenant that an action concerns. */
function tenantOf(scenario: Scenario, action: Action): number {
  return action.tenant % scenario.tenants.length;
}

async function play(world: World, scenario: Scenario): Promise<void> {
  const tenants = world.accounts.map((account) => new TenantWorld(world, account));
  await Promise.all(
    tenants.map((tenant, index) => create(tenant, scenario.tenants[index]?.limitBytes ?? null)),
  );
  const acting: Promise<void>[] = [];
  const begin = (task: Promise<void>) => acting.push(task.catch((error: unknown) => world.fail(error)));
  for (const tenant of tenants) if (tenant.hasTricklers) begin(trickle(tenant));
  for (const action of scenario.actions) {
    await world.wait(action.afterMs);
    const tenant = tenants[tenantOf(scenario, action)];
    if (tenant) begin(act(tenant, scenario, action));
  }
  let stage: Stage = 'acting';
  world.start(0, () => schedule(world, () => stage));
  world.start(calmAfterMs, async () => {
    world.weather.calm = true;
  });
  await Promise.all(acting);
  // In the others, a recount of what may have changed must be exact without the schedule's full counts.
  const heals = world.random.chance(0.5);
  stage = heals ? 'resting' : 'over';
  // Dead letters are sent back, or forgotten: the schedule makes up for them.
  if (world.random.chance(0.5)) world.redrive();
  // A frozen function may go on hours later and reserve then. So wait until nothing runs and everything has died.
  do await world.wait(restAfterMs);
  while (world.running > 0);
  // Until then the repos of dead reservations are looked at again.
  await world.wait(lateForMs + restAfterMs);
  stage = 'over';
  if (heals) {
    for (let run = 0; run < healingRuns; run += 1) await scheduleOnce(world, 15 * minute);
    await world.wait(15 * minute);
    // By now the schedule has made up for every recount that was lost.
    for (const { truth, invariants } of tenants) {
      truth.look();
      if (!truth.around.hasUnnoted(truth.aroundSinceMs)) invariants.checkRest();
    }
  }
  await Promise.all(tenants.map(checkRest));
}

async function checkRest(world: TenantWorld): Promise<void> {
  await checkDeletes(world, 'due');
  // Recounts of what may have changed must already be exact. A full listing must agree. It alone finds what nobody noted.
  const { truth } = world;
  const isFirstFull = truth.around.hasUnnoted(truth.aroundSinceMs);
  for (const full of [isFirstFull, false, true]) {
    await world.wait(Math.max(0, (world.truth.record?.listedUntilMs ?? 0) - world.scheduler.nowMs));
    await world.consume({ tenant: world.tenant, reason: 'manual', full });
    world.invariants.checkRest();
  }
  await checkDeletes(world, 'ended');
}

/** Objects that only somebody who trickles pushes. Their oids are those of no object of the scenario. */
const firstTrickled = 18;
const trickledCount = 16;
const trickledPerRound = 4;
const trickledBytes = 40;

function withTrickled(sizes: readonly number[]): number[] {
  return Array.from({ length: firstTrickled + trickledCount }, (_, index) =>
    index < firstTrickled ? (sizes[index] ?? 0) : trickledBytes,
  );
}

/**
 * Somebody who tries to store more than the limit: round after round, each when the reservations of the one before are
 * dead, with PUTs that begin just before their URL expires and end almost a day later. In some rounds the objects are
 * sent at once, too, and are deleted when nothing holds them.
 */
async function trickle(world: TenantWorld): Promise<void> {
  const sizes = withTrickled([]);
  const rounds: Promise<void>[] = [];
  const isDeleting = world.random.chance(0.5);
  for (let first = firstTrickled; first < sizes.length; first += trickledPerRound) {
    const objects = Array.from({ length: trickledPerRound }, (_, index) => ({
      oid: first + index,
      lie: false,
    }));
    const repo = rounds.length % 2;
    const plan = isDeleting ? 'twice' : 'trickled';
    const action = {
      kind: 'push',
      tenant: 0,
      afterMs: 0,
      repo,
      objects,
      plan,
      verify: isDeleting,
    } as const;
    rounds.push(push(world, action, sizes).catch((error: unknown) => world.fail(error)));
    await world.wait(world.random.int(40 * minute, 60 * minute));
    if (isDeleting) await act(world, { sizes }, { kind: 'delete-repo', tenant: 0, afterMs: 0, repo });
    // Until the repo is empty, and open again.
    if (isDeleting) await world.wait(world.random.int(0, 20 * minute));
  }
  await Promise.all(rounds);
}

/** Whatever died or got lost, the schedule must know of every tenant, repo and object that is still to be deleted. */
async function checkDeletes({ tenant, truth, scheduler }: TenantWorld, when: 'due' | 'ended'): Promise<void> {
  const { ledger, stored, around } = truth;
  const record = await ledger.readTenant(tenant);
  // What is put around the API once a tenant is deleted is found when it is counted next.
  const aroundCount = when === 'due' ? around.putCount(stored) : 0;
  const left = record && record.closedAtMs !== null ? stored.size - aroundCount : 0;
  const closed = (await allPages(ledger.repos(tenant))).filter((repo) => repo.closedAtMs !== null);
  const marked = (await allPages(ledger.deletions(tenant))).filter((deletion) => deletion.state !== 'gone');
  if (closed.length + marked.length + left === 0) return;
  const isDue = ledger
    .dueEntries()
    .some((entry) => entry.tenant === tenant && entry.dueAtMs <= scheduler.nowMs);
  if (when === 'due' && isDue) return;
  throw new Violation(
    `I8: ${closed.length} repos closed, ${marked.length} deletions open, ${left} objects of a closed tenant, not ${when}`,
  );
}

/** The operator tries to create the tenant until it exists. */
async function create(world: TenantWorld, limitBytes: number | null): Promise<void> {
  const { tenant } = world;
  for (;;) {
    const result = await world.invoke((deps) => createTenant(deps, { tenant, plan: null, limitBytes }));
    if (typeof result === 'object') return;
    await world.wait(1_000);
    if (world.truth.ledger.inspect(tenant).record) return;
  }
}

async function schedule(world: World, stageNow: () => Stage): Promise<void> {
  while (stageNow() !== 'over') await scheduleOnce(world, (stageNow() === 'acting' ? 15 : 120) * minute);
}

/** The index that it reads may be behind by minutes. */
async function scheduleOnce(world: World, intervalMs: number): Promise<void> {
  const behindMs = world.random.int(0, indexBehindMs);
  await world.wait(intervalMs - behindMs);
  world.ageIndex();
  await world.wait(behindMs);
  await world.invoke((deps) => refresh(deps), { limitMs: 300_000 });
}

async function act(world: TenantWorld, scenario: Pick<Scenario, 'sizes'>, action: Action): Promise<void> {
  const { tenant } = world;
  switch (action.kind) {
    case 'push':
      return push(world, action, scenario.sizes);
    case 'limit':
      await world.invoke((deps) => deps.ledger.updateTenant({ tenant, limitBytes: action.limitBytes }));
      return;
    case 'delete-object': {
      const object = { repo: repoName(action.repo), oid: oidName(action.oid) };
      const marked = await world.invoke((deps) => markObject(deps, { tenant, ...object, dryRun: false }), {
        // The grace time begins at the request, so the mark must not be written after the function's time limit.
        mayOutlive: false,
      });
      world.invariants.requestDeletion(object, world.scheduler.nowMs);
      const dueAtMs = typeof marked === 'object' ? marked.answer?.dueAtMs : undefined;
      return action.contested && dueAtMs !== undefined
        ? contest(world, scenario, action, dueAtMs)
        : undefined;
    }
    case 'delete-repo': {
      const repo = repoName(action.repo);
      world.invariants.requestDeletion({ repo }, world.scheduler.nowMs);
      await world.invoke((deps) => deleteRepo(deps, { tenant, repo, dryRun: false }));
      return;
    }
    case 'delete-tenant':
      world.coverage.tenantDeletes += 1;
      world.invariants.requestDeletion({}, world.scheduler.nowMs);
      await world.invoke(async (deps) => {
        const record = await deps.ledger.readTenant(tenant);
        const all = { ...deps, tokens: new MemoryTokenStore() };
        if (record) await deleteTenant(all, { tenant: record, dryRun: false });
      });
      return;
    case 'reconcile':
      world.enqueue({ tenant, reason: 'manual', full: action.full });
      return;
    case 'around':
      return changeAround(world, action);
    case 'read':
      return read(world, action.refresh);
  }
}

async function changeAround(world: TenantWorld, { where, oid, change }: AroundAction): Promise<void> {
  const isRepo = where === 0 || where === 1;
  const folder = { 'unknown-folder': 'backup/old/', 'no-folder': '' };
  const name = isRepo ? `${repoName(where)}/${oidName(oid)}` : `${folder[where]}note-${oid}`;
  const sizeBytes = isRepo ? world.sizeOf(oidName(oid)) : oid;
  world.changeAround({ name, ...(change === 'put' && { sizeBytes }) });
}

/** Deletes an object as soon as it is due and no reservation holds it, while others push it. */
async function contest(
  world: TenantWorld,
  scenario: Pick<Scenario, 'sizes'>,
  { repo, oid }: DeleteObjectAction,
  dueAtMs: number,
): Promise<void> {
  const { tenant, random, scheduler, settings, truth } = world;
  const holders = truth.reservations.filter(
    (held) => held.repo === repoName(repo) && held.claims.has(oidName(oid)),
  );
  const freeAtMs = Math.max(dueAtMs, ...holders.map((held) => held.deadAtMs)) + settings.clockSkewMs;
  await world.wait(Math.max(0, freeAtMs + 1 - scheduler.nowMs));
  world.start(0, async () => {
    await world.consume({ tenant, reason: 'delete', full: false });
  });
  const again = {
    kind: 'push',
    tenant: 0,
    afterMs: 0,
    repo,
    objects: [{ oid, lie: false }],
    verify: false,
  } as const;
  const pushes = Array.from({ length: contestersCount }, async () => {
    // Usually after the deletion was claimed. A push before that keeps the object.
    await world.wait(random.int(40, 140));
    await push(world, { ...again, plan: 'at-once' }, scenario.sizes);
  });
  await Promise.all(pushes);
}

async function read(world: TenantWorld, isRefresh: boolean): Promise<void> {
  const { tenant } = world;
  world.coverage.reads += 1;
  const wasCounted = world.invariants.everCounted;
  const result = await world.invoke(async (deps) => {
    const [record, repos] = await Promise.all([
      deps.ledger.readTenant(tenant),
      allPages(deps.ledger.repos(tenant)),
    ]);
    return record && getSubscription(deps, { cached: { tenant: record, repos }, refresh: isRefresh });
  });
  if (typeof result !== 'object' || !result.answer) return;
  world.invariants.checkShown(result.answer.tenant.counted, {
    skewMs: 2 * world.settings.clockSkewMs,
    wasCounted,
    fullCountedAtMs: result.answer.tenant.fullCountedAtMs,
  });
}
