import { dayOf } from '../../domain/calendar.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';

type RefusalDeps = Pick<Deps, 'history' | 'warnings' | 'refusalTally' | 'clock' | 'log'>;
interface Refused {
  readonly tenant: string;
  readonly limitBytes: number;
  readonly atMs: number;
  readonly storedBytes: number;
  readonly objectCount: number;
}

/**
 * Notes that something of a batch was refused for the tenant's limit, and warns if it is the first of the day. Nobody
 * waits for it, and it never fails: the requests are on their way together with what the batch writes anyway. A refusal
 * for the limit of one repo says nothing of the tenant.
 *
 * @param tenant as the batch began with it. @param refusal what it is told: it may have recounted since.
 */
export async function noteRefusal(
  deps: RefusalDeps,
  { tenant, counted }: Pick<TenantRecord, 'tenant' | 'counted'>,
  refusal: { readonly repo: string | null; readonly storedBytes: number; readonly limitBytes: number },
): Promise<void> {
  // Of a tenant that was never counted there is nothing to note.
  if (counted === null || refusal.repo !== null) return;
  const { storedBytes, limitBytes } = refusal;
  const { objectCount } = counted;
  const atMs = deps.clock.nowMs();
  const refused = { tenant, limitBytes, storedBytes, objectCount, atMs };
  const count = deps.refusalTally.add(tenant, atMs);
  if (count === 0) return;
  await Promise.all([addToDay(deps, refused, count), warnOnce(deps, refused)]);
}

async function addToDay({ history, refusalTally, log }: RefusalDeps, refused: Refused, count: number) {
  const { tenant, atMs, storedBytes, objectCount } = refused;
  try {
    await history.addRefusals({ tenant, atMs, count, storedBytes, objectCount });
  } catch (error) {
    refusalTally.giveBack(tenant, count, atMs);
    log.warn('refusal not noted', { tenant, error });
  }
}

/** One write decides, whichever processes refuse at the same time. Each tries it once a day, and again if it failed. */
async function warnOnce({ warnings, refusalTally, log }: RefusalDeps, refused: Refused) {
  const { tenant, atMs, storedBytes, limitBytes } = refused;
  if (refusalTally.isWarned(tenant, atMs)) return;
  try {
    const warning = { kind: 'full', atMs, storedBytes, limitBytes } as const;
    await warnings.raiseFull({ tenant, day: dayOf(atMs), warning });
    refusalTally.noteWarned(tenant, atMs);
  } catch (error) {
    log.warn('refusal not warned of', { tenant, error });
  }
}
