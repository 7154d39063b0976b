import type { Deps } from '../deps.ts';
import type { TenantRecord } from '../ledger/rules/tenant.ts';
import { mapLimited } from '../rules/async.ts';
import { alertEvent, type Threshold, thresholdAfter } from './rules/alerts.ts';
import { isForPeople } from './rules/email.ts';

type ThresholdDeps = Pick<Deps, 'alerts' | 'clock' | 'log'>;

/**
 * Raises an alert if a reconcile found the tenant at another threshold. It never fails: the next reconcile looks again.
 *
 * @param input.after the tenant as the reconcile committed it.
 * @param input.noted whether the reconcile is the newest, as far as is known.
 */
export async function noteThreshold(
  deps: ThresholdDeps,
  input: { after: TenantRecord; epoch: number; noted: Promise<'noted' | 'older' | 'unknown'> },
): Promise<void> {
  const { after, epoch } = input;
  if (after.scanned === null || after.closedAtMs !== null) return;
  try {
    const [{ threshold }, noted] = await Promise.all([deps.alerts.read(after.tenant), input.noted]);
    // What a newer one found was looked at by that one.
    if (noted !== 'older') await raiseIfCrossed(deps, { tenant: after, epoch, before: threshold });
  } catch (error) {
    deps.log.warn('threshold not noted', { tenant: after.tenant, error });
  }
}

/** The same after a change of the limit. A reconcile that still knows the old one raises nothing any more. */
export async function noteLimit(deps: ThresholdDeps, tenant: TenantRecord): Promise<void> {
  if (tenant.scanned === null) return;
  const { epoch } = tenant;
  try {
    await deps.alerts.ignoreBefore({ tenant: tenant.tenant, epoch });
    const { threshold } = await deps.alerts.read(tenant.tenant);
    await raiseIfCrossed(deps, { tenant, epoch, before: threshold });
  } catch (error) {
    deps.log.warn('threshold not noted', { tenant: tenant.tenant, error });
  }
}

async function raiseIfCrossed(
  { alerts, clock }: ThresholdDeps,
  input: { tenant: TenantRecord; epoch: number; before: Threshold },
): Promise<void> {
  const { epoch, before } = input;
  const { tenant, limitBytes, scanned } = input.tenant;
  const storedBytes = scanned?.storedBytes ?? 0;
  const threshold = thresholdAfter({ before, storedBytes, limitBytes });
  if (threshold === before) return;
  const figures = { atMs: clock.nowMs(), storedBytes, limitBytes };
  // Whoever loses the race for this write leaves it to the other.
  await alerts.crossThreshold({
    tenant,
    epoch,
    alert: { kind: 'threshold', ...figures, threshold, previousThreshold: before },
  });
}

/** Tenants of one run of the schedule. The others still have their alerts in the next. */
const tenantsMax = 100;
const tenantsAtOnce = 8;

type HandOverDeps = Pick<Deps, 'alerts' | 'eventBus' | 'webhookQueue' | 'emailQueue' | 'log'>;

/**
 * Hands over the alerts that were raised. One that dies in between leaves them, and the next run hands them over once
 * more: receivers tell by the id.
 *
 * @returns how many alerts.
 */
export async function deliverAlerts(deps: HandOverDeps): Promise<number> {
  try {
    const tenants = await deps.alerts.listPending({ tenantsMax });
    const counts = await mapLimited(tenants, tenantsAtOnce, (tenant) => handOverOrLog(deps, tenant));
    return counts.reduce((sum, count) => sum + count, 0);
  } catch (error) {
    // What else the schedule does goes on.
    deps.log.warn('alerts not looked for', { error });
    return 0;
  }
}

/** What fails for one tenant keeps no other from its alerts. */
async function handOverOrLog(deps: HandOverDeps, tenant: string): Promise<number> {
  try {
    return await handOver(deps, tenant);
  } catch (error) {
    deps.log.warn('alerts not delivered', { tenant, error });
    return 0;
  }
}

async function handOver(deps: HandOverDeps, tenant: string): Promise<number> {
  const { alerts, eventBus, webhookQueue, emailQueue, log } = deps;
  const { pending } = await alerts.read(tenant);
  const last = pending.at(-1);
  // The index is behind: somebody else has handed them over.
  if (!last) return 0;
  const events = pending.map((each) => alertEvent(tenant, each));
  await eventBus.publish(events);
  // Whether the tenant has a webhook, or addresses, is looked at when it is sent.
  await webhookQueue.send(events.map((event) => ({ tenant, event })));
  await emailQueue.send(events.filter(isForPeople).map((event) => ({ kind: 'alert', tenant, event })));
  await alerts.settle({ tenant, seq: last.seq });
  for (const { id, type, data } of events) log.info('alert', { ...data, id, type });
  return events.length;
}
