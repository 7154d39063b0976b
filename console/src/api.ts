import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerTo, PathParams, Query, Route, SentTo } from '../../cli/routes.ts';
import { requestLine } from '../../cli/routes.ts';

/** Requests to the API of the same origin, in the name of whoever has signed in. */

/** Of this server, without a slash at its end: it can be below a path of its host, where its scripts are in `/assets/`. */
export const serverUrl = new URL('..', import.meta.url).href.slice(0, -1);

/** Longer than the gateway waits for a function. */
const requestTimeoutMs = 35_000;

type NoAnswer =
  /** Nothing has changed since the answer of that `etag`. */
  | { readonly kind: 'same' }
  | { readonly kind: 'signed-out' }
  | { readonly kind: 'refused'; readonly status: number; readonly detail: string }
  /** It will answer again. `detail`: what to do until then. */
  | { readonly kind: 'unreachable'; readonly detail?: string | undefined };

export type Answer<T> = { readonly kind: 'ok'; readonly body: T } | NoAnswer;

type Outcome<T> =
  | { readonly kind: 'ok'; readonly status: number; readonly body: T; readonly etag: string | null }
  | NoAnswer;

/** What a route is asked, and the parts of its path by their names. */
export type Asked<R extends Route> = PathParams<R> & {
  readonly query?: Query<R> | undefined;
  readonly body?: SentTo<R>;
  readonly etag?: string | null;
  /** Signs in. No other request has it. */
  readonly token?: string;
  /** Sent again with the same one, a request has one effect. */
  readonly requestKey?: string;
};

/** What is done when a request is answered as if nobody had signed in, or since that has ended; when a git host must be asked again before a change. */
export const listeners = { signedOut: (_hasEnded: boolean) => {}, signInAgain: () => {} };

export async function ask<R extends Route>(route: R, asked: Asked<R>): Promise<Outcome<AnswerTo<R>>> {
  const { query, body, etag, token, requestKey } = asked;
  const { method, path } = requestLine(route, asked, query);
  try {
    const response = await fetch(serverUrl + path, {
      method,
      cache: 'no-store',
      signal: AbortSignal.timeout(requestTimeoutMs),
      headers: {
        'lfs-quota-console': '1',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(etag && { 'if-none-match': etag }),
        ...(requestKey !== undefined && { 'idempotency-key': requestKey }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return await outcomeOf(response, token === undefined);
  } catch {
    return { kind: 'unreachable' };
  }
}

async function outcomeOf<T>(response: Response, isSession: boolean): Promise<Outcome<T>> {
  const { status, headers } = response;
  // To its end: what is left unread keeps the connection.
  const text = await response.text();
  if (status === 304) return { kind: 'same' };
  if (status === 401) {
    if (isSession) listeners.signedOut(text.includes('session-ended'));
    return { kind: 'signed-out' };
  }
  const body = text === '' ? undefined : JSON.parse(text);
  // Too many requests, or something behind the API does not answer.
  if (status === 429 || status >= 500) return { kind: 'unreachable', detail: body?.detail };
  if (body?.code === 'sign-in-again') listeners.signInAgain();
  if (status >= 400) return { kind: 'refused', status, detail: body?.detail ?? 'Rejected.' };
  return { kind: 'ok', status, body, etag: headers.get('etag') };
}

export interface Listed<Item> {
  readonly items: readonly Item[];
  /** There are more, which were not asked for. */
  readonly isCut: boolean;
}

/** Routes that answer a page of a list. */
export type PageRoute = {
  [R in Route]: AnswerTo<R> extends { readonly nextCursor: string | null } ? R : never;
}[Route];

export type ItemOf<
  R extends Route,
  Name extends keyof AnswerTo<R>,
> = AnswerTo<R>[Name] extends readonly (infer Item)[] ? Item : never;

/** The items of a list, page after page; or why not all of its pages could be read. */
export async function askPages<R extends PageRoute, Name extends keyof AnswerTo<R>>(
  route: R,
  name: Name,
  asked: Asked<R> & { pagesMax: number; onPage?: (items: readonly ItemOf<R, Name>[]) => void },
): Promise<Answer<Listed<ItemOf<R, Name>>>> {
  const items: ItemOf<R, Name>[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < asked.pagesMax; page += 1) {
    const query: object = { ...asked.query, limit: 1000, cursor: cursor ?? undefined };
    const outcome = await ask(route, { ...asked, query });
    if (outcome.kind !== 'ok') return outcome;
    items.push(...(outcome.body[name] as ItemOf<R, Name>[]));
    asked.onPage?.(items);
    cursor = (outcome.body as { nextCursor: string | null }).nextCursor;
    if (cursor === null) break;
  }
  return { kind: 'ok', body: { items, isCut: cursor !== null } };
}

/**
 * Runs something again and again while the page is seen, and at once when it is seen again.
 *
 * @param run returns after how many ms it is to run again. null: not any more.
 * @param key another one begins anew.
 * @returns runs it now.
 */
export function usePoll(run: () => Promise<number | null>, key: string): () => void {
  const latest = useRef(run);
  latest.current = run;
  const kick = useRef<() => void>(() => {});
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    let isRunning = false;
    let isDue = false;
    const go = async () => {
      clearTimeout(timer);
      // What runs may have asked before there was a reason to ask again.
      isDue = true;
      if (isRunning || document.hidden) return;
      isRunning = true;
      let waitMs: number | null = null;
      while (isDue && !isOver) {
        isDue = false;
        waitMs = await latest.current();
      }
      isRunning = false;
      if (!isOver && waitMs !== null) timer = setTimeout(() => void go(), waitMs);
    };
    kick.current = () => void go();
    const onSeen = () => void go();
    document.addEventListener('visibilitychange', onSeen);
    void go();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onSeen);
    };
  }, [key]);
  return useCallback(() => kick.current(), []);
}

/** The time, which goes on. */
export function useNow(stepMs: number): number {
  const [nowMs, setNowMs] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNowMs(Date.now());
    }, stepMs);
    return () => clearInterval(timer);
  }, [stepMs]);
  return nowMs;
}
