import { useRef, useState } from 'preact/hooks';
import type { SubscriptionBody } from '../../lambda/frame/contract/tenants.ts';
import type { HistoryBody } from '../../lambda/subjects/history/contract.ts';
import { ask, usePoll } from './api.ts';
import { lastDays } from './subjects/downloads/download-figures.ts';

const usualMs = 6_000;
/** While somebody waits for the first push, or for figures, and while uploads or deletes are under way. */
const waitingMs = 5_000;
const scanningMs = 2_000;
/** A count that is not seen after this is left to go on by itself. */
const countMsMax = 15 * 60_000;
const lostMsMax = 60_000;
const daysMax = 400;

interface TenantView {
  /** undefined: not known yet. */
  readonly body?: SubscriptionBody | undefined;
  readonly history?: HistoryBody | undefined;
  /** When somebody asked for the count that is under way. */
  readonly scanningSinceMs?: number | undefined;
  /** When it is asked again, if the last time there was no answer. */
  readonly againAtMs?: number | undefined;
  /** Why there is nothing to be shown. */
  readonly refusal?: string | undefined;
}

/** What is known, and asking at once. */
export type Live = TenantView & { readonly askNow: () => void; readonly scanAgain: () => void };

/** All that is shown of a tenant's usage, kept up to date while the page is seen. Of one tenant as long as it is used. */
export function useTenant(tenant: string): Live {
  const [view, setView] = useState<TenantView>({});
  const latest = useRef(view);
  const etag = useRef<string | null>(null);
  const failures = useRef(0);
  const change = (part: Partial<TenantView>) => {
    latest.current = { ...latest.current, ...part };
    setView(latest.current);
  };
  const poll = async (): Promise<number | null> => {
    if (latest.current.body === undefined) etag.current = null;
    const outcome = await ask('GET /v1/tenants/{tenant}/subscription', { tenant, etag: etag.current });
    if (outcome.kind === 'signed-out') return null;
    if (outcome.kind === 'refused') {
      change({ refusal: outcome.detail, body: undefined });
      return lostMsMax;
    }
    if (outcome.kind === 'unreachable') {
      const waitMs = Math.min(lostMsMax, waitingMs * 2 ** failures.current);
      failures.current += 1;
      change({ againAtMs: Date.now() + waitMs });
      return waitMs;
    }
    failures.current = 0;
    if (outcome.kind === 'ok') {
      const { body } = outcome;
      etag.current = outcome.etag;
      change({ body, history: await historyFor(latest.current, body), refusal: undefined });
    }
    change({ againAtMs: undefined });
    return waitOf(latest.current, change);
  };
  const askNow = usePoll(poll, tenant);
  const scanAgain = async () => {
    change({ scanningSinceMs: Date.now() });
    askNow();
    const outcome = await ask('GET /v1/tenants/{tenant}/subscription', { tenant, query: { refresh: true } });
    if (outcome.kind === 'ok' && outcome.status === 200) {
      const history = await historyFor(latest.current, outcome.body);
      etag.current = null;
      change({ body: outcome.body, history, scanningSinceMs: undefined });
    } else if (outcome.kind !== 'ok') change({ scanningSinceMs: undefined });
    askNow();
  };
  return { ...view, askNow, scanAgain: () => void scanAgain() };
}

/** How long until it is asked again; and whether a count that somebody asked for has ended. */
function waitOf(view: TenantView, change: (part: Partial<TenantView>) => void): number {
  const { body, scanningSinceMs } = view;
  if (scanningSinceMs !== undefined) {
    const scannedMs = Date.parse(body?.usage?.scannedAt ?? '1970-01-01T00:00:00Z');
    // Its time is in whole seconds.
    const isDone = scannedMs >= scanningSinceMs - 1000 || Date.now() - scanningSinceMs > countMsMax;
    if (!isDone) return scanningMs;
    change({ scanningSinceMs: undefined });
  }
  const isWaiting =
    !body?.usage ||
    body.usage.objectCount === 0 ||
    body.usage.reservedBytes > 0 ||
    body.refreshing ||
    body.repos.some(({ deleting }) => deleting);
  return isWaiting ? waitingMs : usualMs;
}

/** The history changes with a scan, with the limit, and with a rejected push. */
async function historyFor(
  { body: before, history }: TenantView,
  now: SubscriptionBody,
): Promise<HistoryBody | undefined> {
  const isKnown =
    history &&
    before?.usage?.scannedAt === now.usage?.scannedAt &&
    before?.limitBytes === now.limitBytes &&
    before?.lastRefusals[0]?.at === now.lastRefusals[0]?.at;
  if (isKnown) return history;
  const [from] = lastDays(daysMax, Date.now());
  const outcome = await ask('GET /v1/tenants/{tenant}/history', { tenant: now.tenant, query: { from } });
  return outcome.kind === 'ok' ? outcome.body : history;
}
