import { lapsedAtMs } from '../../lambda/core/ledger/rules/reservation.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import { cleanUp, download, having, hold } from './act-beside.ts';
import type { Code } from './code.ts';
import { Violation } from './invariants.ts';
import { repoName } from './names.ts';
import type { SimDeps } from './ports.ts';
import { push } from './push.ts';
import type { Action, AroundAction, CrowdAction, DeleteObjectAction, Scenario } from './scenario.ts';
import type { TenantWorld } from './tenant-world.ts';

/** How many clients push an object while it is being deleted. */
const contestersCount = 4;

/** Does what an action says, as one tenant's people do it. */
export async function act(
  world: TenantWorld,
  scenario: Pick<Scenario, 'sizes'>,
  action: Action,
): Promise<void> {
  const { tenant } = world;
  switch (action.kind) {
    case 'push':
      return push(world, action, scenario.sizes);
    case 'limit':
      await world.invoke(async (deps, code) => {
        const beganMs = deps.clock.nowMs();
        const found = await deps.ledger.readTenant(tenant);
        const { limitBytes } = action;
        if (found) await code.updateTenant(deps, { tenant: found, beganMs, change: { limitBytes } });
      });
      return;
    case 'delete-object': {
      const object = { repo: repoName(action.repo), oid: world.nameOf(action.repo, action.oid) };
      if (world.truth.files.has(object.repo))
        return deleteFile(world, { ...object, isCancel: action.contested });
      const wish = { tenant, ...object, dryRun: false };
      const marked = await world.invoke((deps, code) => code.markObject(deps, wish), {
        // The grace time begins at the request, so the mark must not be written after the function's time limit.
        mayOutlive: false,
      });
      const { nowMs } = world.scheduler;
      const isAnswered = typeof marked === 'object';
      world.invariants.requestDeletion(object, nowMs, nowMs + (isAnswered ? 0 : world.lateMaxMs));
      const plan = isAnswered ? marked.answer : undefined;
      const dueAtMs = typeof plan === 'object' ? plan.dueAtMs : undefined;
      return action.contested && dueAtMs !== undefined
        ? contest(world, scenario, action, dueAtMs)
        : undefined;
    }
    case 'delete-repo': {
      const repo = repoName(action.repo);
      world.invariants.requestDeletion({ repo }, world.scheduler.nowMs);
      await world.invoke((deps, code) => code.deleteRepo(deps, { tenant, repo, dryRun: false }));
      return;
    }
    case 'delete-tenant':
      world.coverage.tenantDeletes += 1;
      world.invariants.requestDeletion({}, world.scheduler.nowMs);
      await world.invoke(async (deps, code) => {
        const record = await deps.ledger.readTenant(tenant);
        if (record) await code.deleteTenant(deps, { tenant: record, dryRun: false });
      });
      return;
    case 'reconcile': {
      const request = { tenant, reason: 'manual', full: action.full } as const;
      if (action.isAtOnce) await world.consume(request);
      else world.enqueue(request);
      return;
    }
    case 'around':
      return changeAround(world, action);
    case 'crowd':
      return crowd(world, action);
    case 'mishap':
      return world.mishaps.add(action.at, action.what);
    case 'gc':
      return insteadOf(world, { ...action, oid: action.keep[0] }, () => cleanUp(world, action));
    case 'export':
      return insteadOf(world, { ...action, oid: undefined }, () => hold(world, action));
    case 'download':
      return insteadOf(world, { ...action, oid: action.objects[0]?.oid }, () => download(world, action));
    case 'outage':
      return;
    case 'create-repo': {
      const path = { tenant, repo: repoName(action.repo) };
      const record = await world.truth.ledger.readRepo(path);
      if (world.isFair() && typeof record?.closedAtMs === 'number')
        throw new Violation(`Story: ${path.repo} is not open yet`);
      const createdAtMs = world.scheduler.nowMs;
      const outcome = await world.truth.ledger.createRepo({ ...path, createdAtMs, kind: 'files' });
      if (outcome === 'done') world.truth.files.add(path.repo);
      return;
    }
    case 'expect-stored': {
      // Where something fails or dies, it may never have been sent.
      if (!world.isFair()) return;
      const name = `${repoName(action.repo)}/${world.nameOf(action.repo, action.oid)}`;
      const { stored, marked } = world.truth;
      if (!stored.has(name) || marked.has(name))
        throw new Violation(
          `Expected after ${action.afterMs} ms: ${name.slice(0, 12)} is ${marked.has(name) ? 'an empty object' : 'not there'}`,
        );
      return;
    }
    case 'read':
      return read(world, action.refresh);
  }
}

/** What nobody can do with files becomes a delete, or a cancel, so that more happens to them. */
function insteadOf(
  world: TenantWorld,
  { repo, oid = 0 }: { repo: number | null; oid: number | undefined },
  act: () => Promise<void> | undefined,
): Promise<void> | undefined {
  const { filesRepos, random } = world;
  const of = filesRepos.find((index) => index === (repo ?? index));
  if (of === undefined || !world.truth.files.has(repoName(of))) return of === undefined ? act() : undefined;
  return deleteFile(world, { repo: repoName(of), oid: world.nameOf(of, oid), isCancel: random.chance(0.5) });
}

/** Deletes a file, or cancels its uploads, as somebody who has asked what is stored or claimed. */
async function deleteFile(
  world: TenantWorld,
  { repo, oid, isCancel }: { repo: string; oid: string; isCancel: boolean },
): Promise<void> {
  const { tenant } = world;
  if (isCancel && world.inParts) return having('cancel')[0]?.(world, repo, oid);
  let newestMs: number | undefined;
  const wish = async (deps: SimDeps) => {
    if (!isCancel) {
      const stored = await deps.store.head(`${tenant}/${repo}/${oid}`);
      newestMs = stored?.lastModifiedMs;
      return stored?.mark === undefined ? stored?.sizeBytes : undefined;
    }
    const claimed: number[] = [];
    for await (const page of deps.ledger.reservationsOf({ tenant, repo, ofUploads: true }))
      claimed.push(...page.flatMap(({ entries }) => entries.get(oid) ?? []));
    return claimed.length > 0 ? Math.max(...claimed) : undefined;
  };
  const { nowMs } = world.scheduler;
  let sinceMs: number | undefined;
  const ask = async (deps: SimDeps, code: Code) => {
    const bytes = await wish(deps);
    if (bytes === undefined) return undefined;
    sinceMs = world.truth.storedSinceMs(`${repo}/${oid}`);
    const objects = new Map([[oid, bytes]]);
    const how = isCancel ? { onlyNew: true as const } : { newestMs };
    return code.requestFileDeletion(deps, { tenant, repo, objects, ...how });
  };
  // Until it's answered it may still ask, of what has come meanwhile.
  if (!isCancel) world.invariants.requestDeletion({ repo, oid }, nowMs, Number.POSITIVE_INFINITY);
  const outcome = await world.invoke(ask, { mayOutlive: false });
  const isRequested = typeof outcome === 'object' && outcome.answer === 'requested';
  if (!isCancel && isRequested && sinceMs !== undefined)
    world.invariants.expectGone(`${repo}/${oid}`, sinceMs);
  const heardByMs = world.scheduler.nowMs + (typeof outcome === 'object' ? 0 : world.lateMaxMs);
  if (!isCancel) world.invariants.requestDeletion({ repo, oid }, nowMs, heardByMs);
}

async function crowd(world: TenantWorld, { repo, oid, batches }: CrowdAction): Promise<void> {
  const { tenant, settings, truth, scheduler } = world;
  const name = world.nameOf(repo, oid);
  const entries = new Map([[name, world.sizeOf(name)]]);
  const expiresAtMs = scheduler.nowMs + settings.urlLifetimeMs + settings.reservationSlackMs;
  const times = {
    createdAtMs: scheduler.nowMs,
    expiresAtMs,
    lapsedAtMs: lapsedAtMs(settings, { expiresAtMs, entries }),
    lookAtMs: null,
  };
  for (let batch = 0; batch < batches; batch += 1) {
    const id = batch.toString(16).padStart(32, '0');
    const reservation = { id, repo: repoName(repo), state: 'issued', entries, ...times } as const;
    truth.promise({ reservation, entries });
    await truth.ledger.putReservation({ tenant, reservation });
  }
}

async function changeAround(world: TenantWorld, { where, oid, change }: AroundAction): Promise<void> {
  const isRepo = where === 0 || where === 1;
  const folder = { 'unknown-folder': 'backup/old/', 'no-folder': '' };
  const object = isRepo ? world.nameOf(where, oid) : '';
  const name = isRepo ? `${repoName(where)}/${object}` : `${folder[where]}note-${oid}`;
  const sizeBytes = isRepo ? world.sizeOf(object) : oid;
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
    (held) => held.repo === repoName(repo) && held.entries.has(world.nameOf(repo, oid)),
  );
  const freeAtMs = Math.max(dueAtMs, ...holders.map((held) => held.lapsedAtMs)) + settings.clockSkewMs;
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
  const wasScanned = world.invariants.everScanned;
  const result = await world.invoke(async (deps, code) => {
    const [record, repos] = await Promise.all([
      deps.ledger.readTenant(tenant),
      allPages(deps.ledger.repos(tenant)),
    ]);
    return record && code.getSubscription(deps, { cached: { tenant: record, repos }, refresh: isRefresh });
  });
  if (typeof result !== 'object' || !result.answer) return;
  world.invariants.checkShown(result.answer.tenant.scanned, {
    skewMs: 2 * world.settings.clockSkewMs,
    wasScanned,
    fullScannedAtMs: result.answer.tenant.fullScannedAtMs,
  });
}
