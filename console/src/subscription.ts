import { useRef, useState } from 'preact/hooks';
import type { SubscriptionBody } from '../../lambda/contract.ts';
import { ask, usePoll } from './api.ts';

const usualMs = 6_000;
/** While somebody waits for the first push, or for figures, and while uploads or deletes are under way. */
const waitingMs = 5_000;
const scanningMs = 2_000;
/** A count that is not seen after this is left to go on by itself. */
const countMsMax = 15 * 60_000;
const lostMsMax = 60_000;

interface TenantView {
  /** undefined: not known yet. */
  readonly body?: SubscriptionBody | undefined;
  /** What is asked with it, by the subject. */
  readonly beside?: Readonly<Record<string, unknown>> | undefined;
  /** When somebody asked for the count that is under way. */
  readonly scanningSinceMs?: number | undefined;
  /** When it is asked again, if the last time there was no answer. */
  readonly againAtMs?: number | undefined;
  /** Why there is nothing to be shown. */
  readonly refusal?: string | undefined;
}

/** What is known, and asking at once. */
export type Live = TenantView & { readonly askNow: () => void; readonly scanAgain: () => void };

/** Asks what belongs to an answer, or returns what is known if nothing of it has changed. */
export type AskBeside = (
  known: unknown,
  before: SubscriptionBody | undefined,
  now: SubscriptionBody,
) => Promise<unknown>;

/** All that is shown of a tenant's usage, kept up to date while the page is seen. Of one tenant as long as it is used. */
export function useTenant(tenant: string, asks: Readonly<Record<string, AskBeside>>): Live {
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
      const next = outcome.status === 404 ? ' Check the URL, or sign in with another token.' : '';
      change({ refusal: outcome.detail + next, body: undefined });
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
      change({ body, beside: await besideOf(asks, latest.current, body), refusal: undefined });
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
      const beside = await besideOf(asks, latest.current, outcome.body);
      etag.current = null;
      change({ body: outcome.body, beside, scanningSinceMs: undefined });
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

async function besideOf(
  asks: Readonly<Record<string, AskBeside>>,
  { body, beside }: TenantView,
  now: SubscriptionBody,
): Promise<TenantView['beside']> {
  const each = Object.entries(asks).map(async ([name, ask]) => [name, await ask(beside?.[name], body, now)]);
  return Object.fromEntries(await Promise.all(each));
}
