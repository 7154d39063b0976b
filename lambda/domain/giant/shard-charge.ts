import type { Settings } from '../../rules/settings.ts';
import { chargedUntilMs } from '../recount-policy.ts';
import type { TenantRecord } from '../tenant.ts';
import { listsOfMonth, type ShardLists } from './shard-lists.ts';

/** Until when LIST requests for shards are paid for, and how many were made in a month. */
export interface ShardCharge {
  readonly shardsListedUntilMs: number;
  /** undefined: none ever. */
  readonly shardLists?: ShardLists | undefined;
}

/** The same with some more requests. @param before as a reconcile found it. */
export function chargedForShards(
  settings: Pick<Settings, 'shardListsPerHour'>,
  input: {
    before: Pick<TenantRecord, 'shardsListedUntilMs' | 'shardLists'>;
    requests: number;
    nowMs: number;
  },
): ShardCharge {
  const { before, requests, nowMs } = input;
  const earlier = listsOfMonth(before.shardLists, nowMs);
  const shardsListedUntilMs = chargedUntilMs(
    { listRequestsPerHour: settings.shardListsPerHour },
    { listedUntilMs: before.shardsListedUntilMs ?? 0, requests, nowMs },
  );
  return {
    shardsListedUntilMs,
    ...((requests > 0 || before.shardLists) && {
      shardLists: { ...earlier, requests: earlier.requests + requests },
    }),
  };
}
