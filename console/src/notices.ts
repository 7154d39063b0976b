import type { SubscriptionBody } from '../../lambda/contract.ts';
import { dayOf } from '../../lambda/core/rules/dates.ts';
import type { Outlook } from '../../lambda/frame/contract/outlook.ts';
import { stateOf } from './figures.ts';

/** The one notice that a tenant's overview has: the worst. */

export type Refusal = NonNullable<Outlook['lastRefusals']>[number];

export type Notice =
  | { readonly kind: 'over'; readonly overBytes: number; readonly limitBytes: number }
  | { readonly kind: 'rejected'; readonly refusal: Refusal }
  | { readonly kind: 'near'; readonly freeBytes: number; readonly fullOn: string | null };

/**
 * A rejected push is shown while there's no space for it, at most until the next day (UTC).
 *
 * @returns undefined: nothing is to be done.
 */
export function noticeOf(body: SubscriptionBody & Outlook, nowMs: number): Notice | undefined {
  const { usage, limitBytes, forecast } = body;
  const free =
    usage === null || limitBytes === null ? undefined : limitBytes - usage.storedBytes - usage.reservedBytes;
  if (free !== undefined && free < 0) return { kind: 'over', overBytes: -free, limitBytes: limitBytes ?? 0 };
  const today = dayOf(nowMs);
  const refusal = body.lastRefusals?.find(
    (each) => each.at.slice(0, 10) === today && isStillShort(each, body, free),
  );
  if (refusal) return { kind: 'rejected', refusal };
  if (free === undefined || stateOf(body) === 'fine') return undefined;
  return { kind: 'near', freeBytes: free, fullOn: forecast?.fullOn ?? null };
}

function isStillShort(refusal: Refusal, { repos }: SubscriptionBody, freeOfTenant = Infinity): boolean {
  const { limit, bytes, shortBytes } = refusal;
  const repo = repos.find((each) => each.repo === refusal.repo);
  const freeOfRepo = (repo?.limitBytes ?? Infinity) - (repo?.storedBytes ?? 0);
  const free = limit === 'repo' ? freeOfRepo : freeOfTenant;
  // With less than was free then, something was pushed since.
  return free < bytes && free >= bytes - shortBytes;
}
