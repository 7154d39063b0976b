import type { HistoryBody } from '../../lambda/api/contract/history.ts';
import type { SubscriptionBody } from '../../lambda/api/contract/tenants.ts';
import { stateOf } from './figures.ts';

/** The one notice that a tenant's overview has: the worst. */

export type Refusal = HistoryBody['lastRefusals'][number];

export type Notice =
  | { readonly kind: 'over'; readonly overBytes: number; readonly limitBytes: number }
  | { readonly kind: 'rejected'; readonly refusal: Refusal }
  | { readonly kind: 'near'; readonly freeBytes: number; readonly fullOn: string | null };

/**
 * What is stored in a repo of which a push was rejected, when the rejection was first seen: it has more once it was pushed
 * to again.
 */
export type StoredThen = Map<string, number>;

/**
 * @param seen keeps what a repo had. A rejected push is shown until the repo has grown, or until the next day (UTC).
 * @returns undefined: nothing is to be done.
 */
export function noticeOf(body: SubscriptionBody, nowMs: number, seen: StoredThen): Notice | undefined {
  const { usage, limitBytes, forecast } = body;
  const free =
    usage === null || limitBytes === null ? undefined : limitBytes - usage.storedBytes - usage.reservedBytes;
  if (free !== undefined && free < 0) return { kind: 'over', overBytes: -free, limitBytes: limitBytes ?? 0 };
  const today = new Date(nowMs).toISOString().slice(0, 10);
  const refusal = body.lastRefusals.find(
    (each) => each.at.slice(0, 10) === today && !hasGrown(each, body, seen),
  );
  if (refusal) return { kind: 'rejected', refusal };
  if (free === undefined || stateOf(body) === 'fine') return undefined;
  return { kind: 'near', freeBytes: free, fullOn: forecast.fullOn };
}

function hasGrown({ at, repo }: Refusal, body: SubscriptionBody, seen: StoredThen): boolean {
  const storedBytes = body.repos.find((each) => each.repo === repo)?.storedBytes ?? 0;
  const key = `${body.tenant}/${repo} ${at}`;
  const then = seen.get(key);
  // What was deleted to get space is no push.
  if (then === undefined || storedBytes < then) seen.set(key, storedBytes);
  return then !== undefined && storedBytes > then;
}
