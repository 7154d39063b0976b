import type { Deps } from '../../deps.ts';
import { chargedForShards, type ShardCharge } from '../../domain/giant/shard-charge.ts';
import { listsOfMonth } from '../../domain/giant/shard-lists.ts';
import { sizeClassOf } from '../../domain/giant/shard-plan.ts';
import type { RepoRecord, TenantRecord } from '../../domain/tenant.ts';
import { nextMonthMs } from '../../rules/text.ts';
import { type CountGiantInput, countGiant, type GiantOutcome } from './count-giant.ts';

/** How far the rate of LIST requests for shards may be overdrawn when a reconcile begins. */
const shardsOverdraftMs = 60_000;

/** Repos that a reconcile counts by shards. */
export interface GiantRepos {
  readonly records: readonly RepoRecord[];
  readonly names: ReadonlySet<string>;
  /** Those that are giants no longer. They are listed as a whole. */
  readonly former: readonly string[];
}

/** All giant repos of a tenant. */
export interface GiantsOutcome extends ShardCharge {
  readonly outcomes: readonly GiantOutcome[];
  /** When shards are to be scanned next. null: there are none. */
  readonly nextDueAtMs: number | null;
}

/**
 * The repos that are giants, and those that become one: somebody pointed to them, so they would be listed anyway. While
 * somebody waits, none does.
 */
export function selectGiants(
  { settings }: Pick<Deps, 'settings'>,
  input: { repos: readonly RepoRecord[]; due: ReadonlySet<string>; isFull: boolean; isAwaited: boolean },
): GiantRepos {
  const { due, isFull, isAwaited } = input;
  const records = input.repos.filter((record) => {
    const isGiant = sizeClassOf(settings, record) === 'giant';
    if (isAwaited) return record.giant !== undefined;
    return record.giant ? isGiant : isGiant && (isFull || due.has(record.repo));
  });
  const names = new Set(records.map(({ repo }) => repo));
  const former = input.repos.filter(({ repo, giant }) => giant && !names.has(repo));
  return { records, names, former: former.map(({ repo }) => repo) };
}

/**
 * Counts the giant repos one after the other.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError | SupersededError}
 */
export async function countGiants(
  deps: Pick<Deps, 'ledger' | 'store' | 'scan' | 'clock' | 'log' | 'settings'>,
  input: Omit<CountGiantInput, 'tenant' | 'record' | 'listsMax' | 'awaitedOids'> & {
    giants: readonly RepoRecord[];
    before: TenantRecord;
    isAwaited: boolean;
    awaitedOidsOf: (repo: string) => ReadonlySet<string>;
  },
): Promise<GiantsOutcome> {
  const { giants, before, isAwaited, snapshot } = input;
  const paidUntilMs = before.shardsListedUntilMs ?? 0;
  const mayList = !isAwaited && paidUntilMs <= snapshot.countedAtMs + shardsOverdraftMs;
  const outcomes: GiantOutcome[] = [];
  const { shardListsPerRun, shardListsPerMonth } = deps.settings;
  const earlier = listsOfMonth(before.shardLists, snapshot.countedAtMs);
  const leftOfMonth = Math.max(0, shardListsPerMonth - earlier.requests);
  let left = mayList ? Math.min(shardListsPerRun, leftOfMonth) : 0;
  for (const record of giants) {
    const outcome = await countGiant(deps, {
      ...input,
      tenant: before.tenant,
      record,
      listsMax: left,
      awaitedOids: input.awaitedOidsOf(record.repo),
    });
    left = Math.max(0, left - outcome.shardLists);
    outcomes.push(outcome);
  }
  const requests = outcomes.reduce((sum, { shardLists }) => sum + shardLists, 0);
  const charge = chargedForShards(deps.settings, { before, requests, nowMs: snapshot.countedAtMs });
  const requestsOfMonth = earlier.requests + requests;
  const isMonthOver = requestsOfMonth >= shardListsPerMonth;
  if (isMonthOver && requests > 0)
    deps.log.warn('the LIST requests of the month for shards are used up', {
      tenant: before.tenant,
      requests: requestsOfMonth,
    });
  const dueAtMs = Math.min(...outcomes.map(({ nextDueAtMs }) => nextDueAtMs), Number.MAX_SAFE_INTEGER);
  const isNever = dueAtMs === Number.MAX_SAFE_INTEGER;
  const affordableAtMs = isMonthOver ? nextMonthMs(snapshot.countedAtMs) : 0;
  return {
    outcomes,
    ...charge,
    nextDueAtMs: isNever
      ? null
      : Math.max(dueAtMs, affordableAtMs, charge.shardsListedUntilMs - shardsOverdraftMs),
  };
}
