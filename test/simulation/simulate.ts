import { unconfirmedForMs } from '../../lambda/core/ledger/rules/reservation.ts';
import { act } from './act.ts';
import { having } from './act-beside.ts';
import type { Mix } from './actor.ts';
import type { Code } from './code.ts';
import type { Coverage } from './coverage.ts';
import { makeFound } from './found-files.ts';
import { Violation } from './invariants.ts';
import { fileName, oidName, repoName, tenantName } from './names.ts';
import { checkRest, largeRepoRunsMax, mayHaveScansLeft } from './rest.ts';
import type { Action, OutageAction, Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';
import type { SimSubject } from './subject.ts';
import * as subjects from './subjects.ts';
import { TenantWorld } from './tenant-world.ts';
import { trickle, withTrickled } from './trickle.ts';
import { type Mutant, World } from './world.ts';

const minute = 60_000;
/** How long after the last action faults stop. Clients that still retry then come to an end. */
const calmAfterMs = 10 * minute;
/** Longer than the largest object of a scenario takes at the lowest rate, and every reservation made before is lapsed. */
const restAfterMs = 90 * minute;
/** Runs of the schedule after the last look for objects of lapsed reservations. */
const healingRuns = 3;
/** At rest the schedule runs less often, to save time. */
type Phase = 'acting' | 'resting' | 'over';
/** DynamoDB promises no bound. Usually it is less than a second. */
const indexBehindMs = 5 * minute;

/**
 * Runs one scenario to its end, checking the invariants after every step.
 *
 * @throws {Violation} when one is broken.
 */
export async function simulate(
  scenario: Scenario,
  input: { mix: Mix; stage?: Stage; mutant?: Mutant; other?: Code },
): Promise<Coverage> {
  const tenants = scenario.tenants.map((_, index) => ({
    hasLies: scenario.actions.some(
      (action) =>
        action.kind === 'push' &&
        tenantOf(scenario, action) === index &&
        action.objects.some(({ lie }) => lie),
    ),
  }));
  const sizes = withTrickled(scenario.sizes);
  const { seed, table } = scenario;
  const world = new World({ seed, sizes, tenants, ...(table && { table }), ...input });
  world.checkRemoval = (removal) => {
    for (const subject of Object.values<SimSubject>(subjects)) subject.checkRemoval?.(world, removal);
  };
  for (const begin of having('begin')) begin(world);
  world.coverage.tenants += tenants.length;
  scenario.tenants.forEach(({ imported }, index) => {
    for (const oid of imported) {
      land(world, index, { repo: oid % 2, oid, sizeBytes: scenario.sizes[oid] ?? 0 });
    }
    if (world.hasLargeRepos)
      for (const oid of largeRepoOids) land(world, index, { repo: oid % 2, oid, sizeBytes: 1 });
  });
  world.start(0, () => play(world, scenario));
  await world.run();
  return world.coverage;
}

/** Objects that nobody pushes. With them, both repos of a tenant are large repos from the beginning. */
const largeRepoOids = [10, 11, 12, 13, 14, 15];

/** Something is in the bucket before the tenant is created. */
function land(
  world: World,
  tenant: number,
  { repo, oid, sizeBytes }: { repo: number; oid: number; sizeBytes: number },
): void {
  const { nowMs } = world.scheduler;
  const name = (world.filesRepos.includes(repo) ? fileName : oidName)(oid);
  const object = { repo: repoName(repo), oid: name, sizeBytes, lastModifiedMs: nowMs - 1000 };
  world.account(tenantName(tenant)).truth.land(object, nowMs);
}

/** Counts a new tenant twice, in good weather: then its repos are large repos. */
async function makeLargeRepos(world: World, tenants: readonly TenantWorld[]): Promise<void> {
  world.weather.calm = true;
  for (let run = 0; run < 2; run += 1)
    for (const { tenant } of tenants) await world.consume({ tenant, reason: 'manual', full: true });
  world.weather.calm = false;
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
  if (world.hasLargeRepos) await makeLargeRepos(world, tenants);
  const acting: Promise<void>[] = [];
  const outages: Promise<void>[] = [];
  const begin = (task: Promise<void>) => acting.push(task.catch((error: unknown) => world.fail(error)));
  for (const tenant of tenants) {
    if (tenant.hasTricklers) begin(trickle(tenant));
    begin(cancelLate(tenant, world.cancelsAfterMs));
    if (world.repoLimits.length > 0) begin(limitRepos(tenant, world.repoLimits));
  }
  for (const action of scenario.actions) {
    await world.wait(action.afterMs);
    const tenant = tenants[tenantOf(scenario, action)];
    if (action.kind === 'outage') outages.push(outage(world, action));
    else if (tenant) begin(act(tenant, scenario, action));
  }
  let phase: Phase = 'acting';
  world.scheduledFromMs = world.scheduler.nowMs;
  world.start(0, () => schedule(world, () => phase));
  await Promise.all(outages);
  world.start(calmAfterMs, async () => {
    world.weather.calm = true;
  });
  await Promise.all(acting);
  // In the others, a reconcile of what may have changed must be exact without the schedule's full counts.
  const heals = world.random.chance(0.5);
  phase = heals ? 'resting' : 'over';
  // Dead letters are sent back, or forgotten: the schedule makes up for them.
  if (world.random.chance(0.5)) world.redrive();
  // A frozen function may go on hours later and reserve then. So wait until nothing runs and everything has died.
  do await world.wait(restAfterMs);
  while (world.running > 0);
  if (world.inParts)
    for (const settle of having('settle'))
      await settle(world, async () => {
        for (const { tenant } of heals ? [] : tenants)
          await world.consume({ tenant, reason: 'upload', full: false });
      });
  // Until then the repos of lapsed reservations are looked at again.
  await world.wait(unconfirmedForMs + restAfterMs);
  phase = 'over';
  if (heals) {
    for (let run = 0; run < healingRuns; run += 1) await scheduleOnce(world, 15 * minute);
    await world.wait(15 * minute);
    await scanWhatIsLeft(world, tenants);
    // By now the schedule has made up for every reconcile that was lost.
    for (const { truth, invariants } of tenants) {
      truth.look();
      if (!truth.around.hasUnnoted(truth.aroundSinceMs) && !invariants.needsFullListing)
        invariants.checkRest();
    }
  }
  await Promise.all(tenants.map(checkRest));
}

/** Where the rate of a large repo's LISTs is low, its shards take as many runs of the schedule as that makes necessary. */
async function scanWhatIsLeft(world: World, tenants: readonly TenantWorld[]): Promise<void> {
  for (let runs = 0; (await Promise.all(tenants.map(mayHaveScansLeft))).includes(true); runs += 1) {
    if (runs > largeRepoRunsMax)
      throw new Violation('I6: the schedule does not end the scans of a large repo');
    await scheduleOnce(world, 15 * minute);
    await world.wait(15 * minute);
  }
}

async function limitRepos(world: TenantWorld, steps: Stage['repoLimits']): Promise<void> {
  for (const { afterMs, repo, limitBytes } of steps) {
    await world.wait(afterMs);
    await world.invoke(async (deps, code) => {
      const beganMs = deps.clock.nowMs();
      const tenant = await deps.ledger.readTenant(world.tenant);
      if (tenant?.closedAtMs === null)
        await code.limitRepo(deps, { tenant, beganMs, repo: repoName(repo), limitBytes });
    });
    world.coverage.repoLimits += 1;
  }
}

/** The operator cancels what is late, also where PUTs are under way that end hours later. The API refuses it once the tenant is deleted. */
async function cancelLate(world: TenantWorld, cancelsAfterMs: Stage['cancelsAfterMs']): Promise<void> {
  const { tenant } = world;
  for (const afterMs of cancelsAfterMs) {
    await world.wait(afterMs);
    world.invariants.noteCancel();
    const result = await world.invoke(async (deps, code) => {
      const record = await deps.ledger.readTenant(tenant);
      return record?.closedAtMs === null ? code.cancelReservations(deps, { tenant }) : undefined;
    });
    if (typeof result === 'object') world.coverage.cancelled += result.answer?.count ?? 0;
  }
}

/** The operator tries to create the tenant until it exists. */
async function create(world: TenantWorld, limitBytes: number | null): Promise<void> {
  const { tenant } = world;
  for (;;) {
    const result = await world.invoke((deps, code) =>
      code.createTenant(deps, { tenant, plan: null, limitBytes }),
    );
    if (typeof result === 'object') break;
    await world.wait(1_000);
    if (world.truth.ledger.inspect(tenant).record) break;
  }
  if (world.findsFiles) return makeFound(world);
  for (const index of world.filesRepos) {
    const path = { tenant, repo: repoName(index) };
    const createdAtMs = world.scheduler.nowMs;
    const outcome = await world.truth.ledger.createRepo({ ...path, createdAtMs, kind: 'files' });
    // A reconcile may have found it first. Nobody has pushed yet.
    if (outcome !== 'done') throw new Violation(`Files: ${path.repo} can't be created: ${outcome}`);
  }
}

async function schedule(world: World, phaseNow: () => Phase): Promise<void> {
  while (phaseNow() !== 'over')
    await scheduleOnce(world, phaseNow() === 'acting' ? world.scheduleMs : 120 * minute);
}

/** The index that it reads may be behind by minutes. */
async function scheduleOnce(world: World, intervalMs: number): Promise<void> {
  const behindMs = world.random.int(0, Math.min(indexBehindMs, intervalMs));
  await world.wait(intervalMs - behindMs);
  world.ageIndexes();
  await world.wait(behindMs);
  await world.invoke(
    async (deps, code) => {
      await code.refresh(deps);
      if (world.inParts) for (const beat of having('beat')) await beat(deps, code);
    },
    { limitMs: 300_000 },
  );
}

/** It concerns all tenants. */
async function outage(world: World, { of, forMs }: OutageAction): Promise<void> {
  const { outages } = world.weather;
  world.coverage[of === 'files' ? 'fileOutages' : 'outages'] += 1;
  outages[of] += 1;
  await world.wait(forMs);
  outages[of] -= 1;
}
