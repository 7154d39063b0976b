import { monthOf } from '../../rules/text.ts';

/** How many LIST requests a tenant's shards have taken in a month. */
export interface ShardLists {
  /** `2026-11`, in UTC. */
  readonly month: string;
  readonly requests: number;
}

/** Those of the month of `nowMs`: none yet if the last ones were made in another. */
export function listsOfMonth(earlier: ShardLists | undefined, nowMs: number): ShardLists {
  const month = monthOf(nowMs);
  return earlier?.month === month ? earlier : { month, requests: 0 };
}
