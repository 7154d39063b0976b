import type { Log } from '../rules/clock-and-log.ts';
import type { Refusal } from './rules/limits.ts';
import type { Reservation } from './rules/reservation.ts';
import type { RepoPath, RepoRecord, TenantRecord } from './rules/tenant.ts';

/**
 * What the ledger tells the subjects, and what it asks them. It knows none of them: what is composed for a function lists those
 * that it has.
 *
 * No promise of docs/how-it-works.md depends on what is only told. What is asked fails closed.
 */

/** A reconcile has committed. */
export interface Counted {
  /** The tenant as the reconcile found it. */
  readonly before: TenantRecord;
  /** The same as it was committed. */
  readonly after: TenantRecord;
  readonly epoch: number;
}

/** A repo's last count is about to be replaced, or has been. */
interface RepoCounted {
  readonly tenant: string;
  readonly epoch: number;
  /** As the reconcile found it. */
  readonly before: RepoRecord;
  /** Of its own count. */
  readonly scannedAtMs: number;
}

/** A limit refused something of a batch. */
export interface Refused {
  /** As the batch started with it. */
  readonly tenant: Pick<TenantRecord, 'tenant' | 'scanned' | 'limitBytes' | 'committedBytes'>;
  /** As its client sees it: a reconcile might have come between. */
  readonly refusal: Refusal;
  readonly repo: string;
  readonly user: string | null;
}

/**
 * Is told what the ledger has done: late, twice, or never if the function dies before. What it throws is logged, and changes
 * nothing. A reconcile waits for it, a batch's answer doesn't.
 */
export interface Listener {
  /**
   * A reconcile is about to replace what the last one committed, and waits for this. So whoever needs each commit misses none,
   * though the function that made it died before it told anybody.
   *
   * @returns hears the commit, as `counted` does.
   * @throws {LedgerUnavailableError} Then nothing is committed.
   */
  readonly replacing?: (before: TenantRecord) => Promise<(event: Counted) => Promise<void>>;
  readonly counted?: (event: Counted) => Promise<void>;
  readonly repoCounted?: (event: RepoCounted) => Promise<void>;
  readonly refused?: (event: Refused) => Promise<void>;
  /** A tenant's limit was changed. */
  readonly limited?: (tenant: TenantRecord) => Promise<void>;
  /** Nobody needed the item of a repo any more, and it is gone. */
  readonly repoRemoved?: (path: RepoPath) => Promise<void>;
}

/** Asks all of them before a commit. @returns tells all of them of it. @throws {LedgerUnavailableError} */
export async function askBefore(
  deps: Parameters<typeof tell>[0],
  before: TenantRecord,
): Promise<(event: Counted) => Promise<unknown>> {
  const heard = await Promise.all(deps.listeners.map(({ replacing }) => replacing?.(before)));
  return (event) => Promise.all([...heard.map((hear) => hear?.(event)), tell(deps, 'counted', event)]);
}

/** Tells all of them at once. It never fails. */
export async function tell<What extends Exclude<keyof Listener, 'replacing'>>(
  { listeners, log }: { readonly listeners: readonly Listener[]; readonly log: Log },
  what: What,
  event: Parameters<Required<Listener>[What]>[0],
): Promise<void> {
  await Promise.all(
    listeners.map(async (listener) => {
      try {
        await (listener[what] as ((event: unknown) => Promise<void>) | undefined)?.(event);
      } catch (error) {
        const of = 'tenant' in event ? event.tenant : event.after;
        log.warn('listener failed', { what, tenant: typeof of === 'string' ? of : of.tenant, error });
      }
    }),
  );
}

/** Of what a subject ends, so many at a time. */
export const endsAtOnce = 16;

/** `unfinished`: the time was up first. `waits`: something may still come, within hours. Then the repo stays closed for so long. */
export type Forgotten = 'done' | 'unfinished' | 'waits';

/**
 * What a subject keeps of repos and tenants. The name of a repo can be used again only once all of it is gone: it is asked until
 * it says `done`. By then the repo is closed and empty, or the tenant closed, so nothing is added any more. Each may be asked again.
 *
 * @throws {LedgerUnavailableError} from each. Then the request fails, or the reconcile is repeated.
 */
export interface Belongings {
  /** Whether it keeps anything of a repo. Then there is one, though nothing was ever counted in it. */
  readonly knows?: (path: RepoPath) => Promise<boolean>;
  /** The repo, or the tenant, was closed just now: what lets people in ends. */
  readonly closeRepo?: (path: RepoPath) => Promise<void>;
  readonly closeTenant?: (tenant: string) => Promise<void>;
  /** @param input.untilMs nothing is begun after this. */
  readonly forgetRepo?: (input: RepoPath & { untilMs: number }) => Promise<Forgotten>;
  readonly forgetTenant?: (input: { tenant: string; untilMs: number }) => Promise<Forgotten>;
}

/** Asks one after the other, until the time is up. @throws {LedgerUnavailableError} */
export async function forgetAll(
  belongings: readonly Belongings[],
  forget: (each: Belongings) => Promise<Forgotten> | undefined,
): Promise<Forgotten> {
  for (const each of belongings) {
    const outcome = (await forget(each)) ?? 'done';
    if (outcome !== 'done') return outcome;
  }
  return 'done';
}

/** Whether objects of a repo that may go since `dueAtMs` stay for now. */
export type Spared = (repo: string, dueAtMs: number) => boolean;

/** Keeps objects from being deleted, for a time that ends by itself. */
export interface Hold {
  /** @throws {LedgerUnavailableError} Then nothing is deleted. */
  readonly spared: (tenant: string) => Promise<Spared>;
}

/** @throws {LedgerUnavailableError} */
export async function sparedBy(holds: readonly Hold[], tenant: string): Promise<Spared> {
  const all = await Promise.all(holds.map((hold) => hold.spared(tenant)));
  return (repo, dueAtMs) => all.some((isSpared) => isSpared(repo, dueAtMs));
}

/** Work on a tenant that goes on in the queue of reconciles. */
export interface Chore {
  /** For the log. */
  readonly what: string;
  /**
   * @param input.repos of the tenant. @param input.untilMs nothing is begun after this.
   * @returns `uncounted`: no more can be done before a reconcile.
   * @throws It is asked again. The reconcile takes place all the same.
   */
  readonly advance: (input: {
    tenant: string;
    repos: readonly RepoRecord[];
    untilMs: number;
  }) => Promise<'done' | 'unfinished' | 'uncounted'>;
}

/** Ends what goes another way. */
export interface Claims {
  /**
   * Nothing of it is released yet: once no more of it can arrive, `endChunked` says so.
   *
   * @param input.states `all`: those too that are about to be done. @param input.untilMs no others are ended after this.
   * @returns the oids of those that were ended.
   * @throws {LedgerUnavailableError}
   */
  readonly end: (input: {
    tenant: string;
    reservation: Reservation;
    states: 'open' | 'all';
    untilMs?: number;
  }) => Promise<readonly string[]>;
}
