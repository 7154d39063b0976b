import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { Counted, Refused } from '../../core/ledger/seams.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { dayOf } from '../../core/rules/dates.ts';
import type { NetPorts } from '../../frame/net/ports.ts';
import type { AlertPorts } from './ports.ts';
import { alertEvent, type Threshold, thresholdAfter } from './rules/alerts.ts';
import { isForPeople } from './rules/email.ts';

type ThresholdDeps = Pick<CoreDeps, 'clock' | 'log'> & Pick<AlertPorts, 'alerts'>;

/**
 * Raises an alert if a reconcile found the tenant at another threshold. It never fails: the next reconcile looks again.
 *
 * @param event.after the tenant as the reconcile committed it.
 */
export async function noteThreshold(
  deps: ThresholdDeps & Pick<CoreDeps, 'ledger'>,
  { after, epoch }: Pick<Counted, 'after' | 'epoch'>,
): Promise<void> {
  const { tenant, scanned, closedAtMs } = after;
  if (scanned === null || closedAtMs !== null) return;
  try {
    const { threshold } = await deps.alerts.read(tenant);
    if (levelOf(after, threshold) === threshold) return;
    // What a newer one found counts, though it may not have come to look at it.
    const now = (await deps.ledger.readTenant(tenant).catch(() => undefined)) ?? after;
    if (now.closedAtMs !== null) return;
    await raiseIfCrossed(deps, { tenant: now, epoch: Math.max(epoch, now.appliedEpoch), before: threshold });
  } catch (error) {
    deps.log.warn('threshold not noted', { tenant, error });
  }
}

function levelOf({ limitBytes, scanned }: TenantRecord, before: Threshold): Threshold {
  return thresholdAfter({ before, storedBytes: scanned?.storedBytes ?? 0, limitBytes });
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
  const threshold = levelOf(input.tenant, before);
  if (threshold === before) return;
  const figures = { atMs: clock.nowMs(), storedBytes, limitBytes };
  // Whoever loses the race for this write leaves it to the other.
  await alerts.crossThreshold({
    tenant,
    epoch,
    alert: { kind: 'threshold', ...figures, threshold, previousThreshold: before },
  });
}

/** Tenants that a process knows to be warned. */
const warnedMax = 10_000;

/**
 * Warns that a tenant's own limit refused something, once a day. One write decides, whichever processes refuse at the same time.
 * Each tries until one has warned. It never fails.
 *
 * @param deps.warned tenant → the day on which this process knows that it was warned.
 */
export async function noteFull(
  deps: ThresholdDeps & { readonly warned: Map<string, string> },
  { tenant: { tenant, scanned }, refusal }: Pick<Refused, 'tenant' | 'refusal'>,
): Promise<void> {
  const { alerts, clock, log, warned } = deps;
  const atMs = clock.nowMs();
  const day = dayOf(atMs);
  // Of a tenant that was never counted there is nothing to tell.
  if (scanned === null || refusal.repo !== null || warned.get(tenant) === day) return;
  const { storedBytes, limitBytes } = refusal;
  if (warned.size >= warnedMax) warned.clear();
  // One tries at a time.
  warned.set(tenant, day);
  try {
    await alerts.raiseFull({ tenant, day, alert: { kind: 'limit_reached', atMs, storedBytes, limitBytes } });
  } catch (error) {
    warned.delete(tenant);
    log.warn('refusal not warned of', { tenant, error });
  }
}

/** Tenants of one run of the schedule. The others still have their alerts in the next. */
const tenantsMax = 100;
const tenantsAtOnce = 8;

type HandOverDeps = Pick<CoreDeps, 'log'> &
  Pick<NetPorts, 'eventBus'> &
  Pick<AlertPorts, 'alerts' | 'webhookQueue' | 'emailQueue'>;

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
  if (emailQueue.isOn)
    await emailQueue.send(events.filter(isForPeople).map((event) => ({ kind: 'alert', tenant, event })));
  await alerts.settle({ tenant, seq: last.seq });
  for (const { id, type, data } of events) log.info('alert', { ...data, id, type });
  return events.length;
}
