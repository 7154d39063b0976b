import type { Deps } from '../../deps.ts';
import {
  beginRun,
  type DueTenant,
  endRun,
  mayBeHandedAgain,
  noRefreshState,
  type RefreshState,
  settledMs,
} from '../../domain/refresh-state.ts';
import { mapLimited } from '../../rules/async.ts';
import { NewerFormatError } from '../../rules/system.ts';

type RefreshDeps = Pick<Deps, 'ledger' | 'queue' | 'clock' | 'metrics' | 'settings'>;

/** Of the tenants that a run hands on, the share that may be due for longer. */
const againShare = 1 / 4;
const readsAtOnce = 16;

/**
 * Queues a recount of each tenant that has become due since the last run, and of some that are still due. The recount
 * is full if the tenant's last full count is too old. If it is due only because a reservation died, a deletion is due
 * or a repo is closed, the recount covers what may have changed. Tenants beyond the setting `refreshTenantsMax`, or
 * that the queue did not accept, are queued by the next run.
 *
 * How far it has come is kept only once the queue has taken all: whatever fails, nobody is left out.
 *
 * @returns how many were queued.
 * @throws {LedgerUnavailableError} or the error of the queue.
 */
export async function refresh(deps: RefreshDeps): Promise<number> {
  const { ledger, queue, clock, settings } = deps;
  const nowMs = clock.nowMs();
  const state = beginRun((await ledger.readRefreshState()) ?? noRefreshState, nowMs);
  const again = await handAgain(deps, { state, nowMs });
  const fresh = await ledger.dueTenants({
    afterMs: state.handedUntilMs,
    untilMs: nowMs - settledMs,
    tenantsMax: Math.max(1, settings.refreshTenantsMax - again.due.length),
  });
  const due = [...fresh.due, ...again.due];
  await queue.requestAll(due.map(({ tenant, full }) => ({ tenant, full, reason: 'schedule' })));
  await ledger.putRefreshState(
    endRun(state, {
      // A clock may be behind that of the last run.
      handedUntilMs: Math.max(state.handedUntilMs, fresh.untilMs),
      lookedUntilMs: again.untilMs,
      beganMs: nowMs,
    }),
  );
  deps.metrics.increment('TenantsQueued', due.length);
  return due.length;
}

/** Goes on with the round through what is still due. */
async function handAgain(
  deps: RefreshDeps,
  { state, nowMs }: { state: RefreshState; nowMs: number },
): Promise<{ due: readonly DueTenant[]; untilMs: number }> {
  const { ledger, settings } = deps;
  const { round } = state;
  const { doneUntilMs, untilMs } = round;
  if (doneUntilMs >= untilMs) return { due: [], untilMs: doneUntilMs };
  const tenantsMax = Math.ceil(againShare * settings.refreshTenantsMax);
  const found = await ledger.dueTenants({ afterMs: doneUntilMs, untilMs, tenantsMax });
  const kept = await mapLimited(found.due, readsAtOnce, async (due) => {
    const tenant = await readTenant(deps, due.tenant);
    return tenant && mayBeHandedAgain(settings, { due, tenant, round, nowMs }) ? [due] : [];
  });
  return { due: kept.flat(), untilMs: found.untilMs };
}

/** A tenant that a newer version wrote is its affair: nothing here could recount it. */
async function readTenant({ ledger }: Pick<Deps, 'ledger'>, tenant: string) {
  try {
    return await ledger.readTenant(tenant);
  } catch (error) {
    if (error instanceof NewerFormatError) return undefined;
    throw error;
  }
}
