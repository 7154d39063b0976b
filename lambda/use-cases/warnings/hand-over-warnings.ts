import type { Deps } from '../../deps.ts';
import { warningEvent } from '../../domain/warning.ts';
import { mapLimited } from '../../rules/async.ts';

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
    deps.log.warn('warnings not handed over', { tenant, error });
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
