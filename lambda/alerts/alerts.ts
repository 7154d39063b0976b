import type { Deps } from '../deps.ts';
import type { TenantRecord } from '../ledger/rules/tenant.ts';
import { mapLimited } from '../rules/async.ts';
import { levelAfter, type WarningLevel, warningEvent } from './rules/alerts.ts';

type LevelDeps = Pick<Deps, 'warnings' | 'clock' | 'log'>;

/**
 * Raises a warning if a recount found the tenant on another level. It never fails: the next recount looks again.
 *
 * @param input.after the tenant as the recount committed it.
 * @param input.noted whether the recount is the newest, as far as is known.
 */
export async function noteLevel(
  deps: LevelDeps,
  input: { after: TenantRecord; epoch: number; noted: Promise<'noted' | 'older' | 'unknown'> },
): Promise<void> {
  const { after, epoch } = input;
  if (after.counted === null || after.closedAtMs !== null) return;
  try {
    const [{ level }, noted] = await Promise.all([deps.warnings.read(after.tenant), input.noted]);
    // What a newer one found was looked at by that one.
    if (noted !== 'older') await raiseIfCrossed(deps, { tenant: after, epoch, before: level });
  } catch (error) {
    deps.log.warn('level not noted', { tenant: after.tenant, error });
  }
}

/** The same after a change of the limit. A recount that still knows the old one raises nothing any more. */
export async function noteLimit(deps: LevelDeps, tenant: TenantRecord): Promise<void> {
  if (tenant.counted === null) return;
  const { epoch } = tenant;
  try {
    await deps.warnings.ignoreBefore({ tenant: tenant.tenant, epoch });
    const { level } = await deps.warnings.read(tenant.tenant);
    await raiseIfCrossed(deps, { tenant, epoch, before: level });
  } catch (error) {
    deps.log.warn('level not noted', { tenant: tenant.tenant, error });
  }
}

async function raiseIfCrossed(
  { warnings, clock }: LevelDeps,
  input: { tenant: TenantRecord; epoch: number; before: WarningLevel },
): Promise<void> {
  const { epoch, before } = input;
  const { tenant, limitBytes, counted } = input.tenant;
  const storedBytes = counted?.storedBytes ?? 0;
  const level = levelAfter({ before, storedBytes, limitBytes });
  if (level === before) return;
  const figures = { atMs: clock.nowMs(), storedBytes, limitBytes };
  // Whoever loses the race for this write leaves it to the other.
  await warnings.raiseLevel({
    tenant,
    epoch,
    warning: { kind: 'level', ...figures, level, previousLevel: before },
  });
}

/** Tenants of one run of the schedule. The others still have their warnings in the next. */
const tenantsMax = 100;
const tenantsAtOnce = 8;

type HandOverDeps = Pick<Deps, 'warnings' | 'eventBus' | 'webhookQueue' | 'log'>;

/**
 * Hands over the warnings that were raised. One that dies in between leaves them, and the next run hands them over once
 * more: receivers tell by the id.
 *
 * @returns how many warnings.
 */
export async function handOverWarnings(deps: HandOverDeps): Promise<number> {
  try {
    const tenants = await deps.warnings.listPending({ tenantsMax });
    const counts = await mapLimited(tenants, tenantsAtOnce, (tenant) => handOverOrLog(deps, tenant));
    return counts.reduce((sum, count) => sum + count, 0);
  } catch (error) {
    // What else the schedule does goes on.
    deps.log.warn('warnings not looked for', { error });
    return 0;
  }
}

/** What fails for one tenant keeps no other from its warnings. */
async function handOverOrLog(deps: HandOverDeps, tenant: string): Promise<number> {
  try {
    return await handOver(deps, tenant);
  } catch (error) {
    deps.log.warn('alerts not delivered', { tenant, error });
    return 0;
  }
}

async function handOver(deps: HandOverDeps, tenant: string): Promise<number> {
  const { warnings, eventBus, webhookQueue, log } = deps;
  const { pending } = await warnings.read(tenant);
  const last = pending.at(-1);
  // The index is behind: somebody else has handed them over.
  if (!last) return 0;
  const events = pending.map((each) => warningEvent(tenant, each));
  await eventBus.publish(events);
  // Whether the tenant has a webhook is looked at when it is sent.
  await webhookQueue.send(events.map((event) => ({ tenant, event })));
  await warnings.settle({ tenant, seq: last.seq });
  for (const { id, type, data } of events) log.info('warning', { ...data, id, type });
  return events.length;
}
