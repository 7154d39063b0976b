import type { Deps } from '../../deps.ts';
import type { LastRefusal } from '../../domain/history.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import { dayOf } from '../../rules/text.ts';

type RefusalDeps = Pick<Deps, 'history' | 'warnings' | 'refusalTally' | 'clock' | 'log'>;
interface Refused {
  readonly tenant: string;
  readonly limitBytes: number;
  readonly atMs: number;
  readonly storedBytes: number;
  readonly objectCount: number;
  readonly last: LastRefusal;
}

/** What was refused of a batch. */
interface RefusedBatch {
  readonly oids: readonly string[];
  readonly refusedBytes: number;
  readonly missingBytes: number;
  /** The repo that has the limit. null: it's the tenant's. */
  readonly repo: string | null;
  readonly storedBytes: number;
  readonly limitBytes: number;
}

/**
 * Notes a batch that the tenant's or a repo's limit refused something of. If it's the tenant's and the first of the day,
 * warns. Its result isn't awaited, and it never fails: the requests go out together with what the batch writes anyway.
 *
 * @param tenant as the batch started with it. @param refusal as its client sees it: a recount might have come between.
 */
export async function noteRefusal(
  deps: RefusalDeps,
  { tenant, counted }: Pick<TenantRecord, 'tenant' | 'counted'>,
  refusal: RefusedBatch,
  { repo, user }: { repo: string; user: string | null },
): Promise<void> {
  // Of a tenant that was never counted there is nothing to note.
  if (counted === null) return;
  const { limitBytes } = refusal;
  const isOfRepo = refusal.repo !== null;
  const storedBytes = isOfRepo ? counted.storedBytes : refusal.storedBytes;
  const { objectCount } = counted;
  const atMs = deps.clock.nowMs();
  const last: LastRefusal = {
    atMs,
    repo,
    user,
    files: refusal.oids.length,
    bytes: refusal.refusedBytes,
    shortBytes: refusal.missingBytes,
    limit: isOfRepo ? 'repo' : 'tenant',
  };
  const refused = { tenant, limitBytes, storedBytes, objectCount, atMs, last };
  // A tenant's name has no slash.
  const count = deps.refusalTally.add(isOfRepo ? `${tenant}/` : tenant, atMs);
  if (count === 0) return;
  await (isOfRepo
    ? addToDay(deps, refused, 0)
    : Promise.all([addToDay(deps, refused, count), warnOnce(deps, refused)]));
}

async function addToDay({ history, refusalTally, log }: RefusalDeps, refused: Refused, count: number) {
  const { tenant, atMs, storedBytes, objectCount, last } = refused;
  try {
    await history.addRefusals({ tenant, atMs, count, storedBytes, objectCount, last });
  } catch (error) {
    if (count > 0) refusalTally.giveBack(tenant, count, atMs);
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
