import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { AnswerTo, Route } from '../../cli/routes.ts';
import { type Answer, type Asked, ask, askPages, type PageRoute, usePoll } from './api.ts';

/** What a view reads besides the tenant's figures, and what it changes. */

const lostMs = 5_000;

/** Lists hold back what's below them for so long, so that nothing moves when they come. */
const heldBackMs = 2_000;
let firstReads = 0;

/** Something is read for the first time. The style hides cards meanwhile: they keep their place, and come together. */
function holdBack(): () => void {
  let isOver = false;
  const set = (step: number) => {
    firstReads += step;
    document.body.toggleAttribute('data-reading', firstReads > 0);
  };
  const end = () => {
    if (!isOver) set(-1);
    isOver = true;
  };
  set(1);
  setTimeout(end, heldBackMs);
  return end;
}

interface Held<T> {
  readonly what: string;
  readonly body?: T;
  readonly refusal?: string;
}

interface Reading<T> {
  /** Another one, and it's read again. */
  readonly key?: string | undefined;
  /** After how long it is read again. null: not by itself. */
  readonly againMs?: ((body: T) => number | null) | undefined;
  /** Nothing is held back for it, and without `againMs` it stays until `read`, once known. */
  readonly isAside?: boolean | undefined;
}

/**
 * An answer. It's read again when the page is seen again, when the key changes, and when nobody answered.
 *
 * @param what it is: of another one, this isn't shown. undefined: nothing is read.
 * @returns `refusal` says why there's no body.
 */
export function useAnswer<T>(
  what: string | undefined,
  get: () => Promise<Answer<T>>,
  { key, againMs, isAside }: Reading<T>,
): { body: T | undefined; refusal: string | undefined; read: () => void } {
  const [held, setHeld] = useState<Held<T>>();
  const latest = useRef(what);
  latest.current = what;
  const pollKey = `${what} ${key}`;
  const kept = useRef({ key: '' });
  const poll = usePoll(async () => {
    // `read` makes another one.
    const { current } = kept;
    if (what === undefined || current.key === pollKey) return null;
    const outcome = await get();
    if (latest.current !== what) return null;
    if (outcome.kind === 'ok') {
      if (isAside && !againMs) current.key = pollKey;
      setHeld({ what, body: outcome.body });
      return againMs?.(outcome.body) ?? null;
    }
    if (outcome.kind === 'refused') setHeld({ what, refusal: outcome.detail });
    return outcome.kind === 'unreachable' ? lostMs : null;
  }, pollKey);
  const read = () => {
    kept.current = { key: '' };
    poll();
  };
  const known = held?.what === what ? held : undefined;
  const isFirst = what !== undefined && known === undefined && !isAside;
  useLayoutEffect(() => (isFirst ? holdBack() : undefined), [isFirst]);
  return { body: known?.body, refusal: known?.refusal, read };
}

/** What a route answers. @param route undefined: nothing is read. */
export const useRead = <R extends Route>(route: R | undefined, asked: Asked<R> & Reading<AnswerTo<R>>) =>
  useAnswer(whatOf(route, asked), () => ask(route as R, asked), asked);

/** The items of a list, page after page. `name` is that of their field. */
export const useList = <R extends PageRoute, Name extends keyof AnswerTo<R>>(
  route: R | undefined,
  name: Name,
  asked: Asked<R> & { pagesMax: number; key?: string },
) =>
  useAnswer(whatOf(route, asked), () => askPages(route as R, name, asked), { key: asked.key, isAside: true });

const whatOf = (route: string | undefined, asked: object) =>
  route && route + JSON.stringify({ ...asked, key: '' });

/** What is stored, or was saved since: answers that are still on their way may be older. */
export function useSaved<T>(stored: T) {
  const state = useState(stored);
  useEffect(() => state[1](stored), [stored]);
  return state;
}

/**
 * Changes something.
 *
 * @param then is called with the answer, once it's changed.
 * @returns why it wasn't changed. undefined: it was.
 */
export async function change<R extends Route>(
  route: R,
  asked: Asked<R>,
  then?: (body: AnswerTo<R>) => void,
): Promise<string | undefined> {
  const outcome = await ask(route, asked);
  // The answer to a click was lost, or was none.
  if (outcome.kind !== 'ok') return ('detail' in outcome && outcome.detail) || "Couldn't save. Retry.";
  then?.(outcome.body);
  return undefined;
}
