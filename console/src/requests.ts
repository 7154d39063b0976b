import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Answer, ask, askPages, type Listed, usePoll } from './api.ts';

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
  readonly path: string;
  readonly body?: T;
  readonly refusal?: string;
}

/**
 * The answer of a path. It's read again when the page is seen again, when the key changes, and when nobody answered.
 *
 * @param path undefined: nothing is read.
 * @param options.againMs after how long it is read again. null: not by itself.
 * @param options.get asks otherwise, as for a long list: nothing is held back for it, and without `againMs` it stays until
 * `read`, once known.
 * @returns `refusal` says why there's no body.
 */
export function useRead<T>(
  path: string | undefined,
  options: {
    key?: string;
    againMs?: (body: T) => number | null;
    get?: (path: string) => Promise<Answer<T>>;
  } = {},
): { body: T | undefined; refusal: string | undefined; read: () => void } {
  const [held, setHeld] = useState<Held<T>>();
  const latest = useRef(path);
  latest.current = path;
  const pollKey = `${path} ${options.key}`;
  const kept = useRef('');
  const poll = usePoll(async () => {
    if (path === undefined || kept.current === pollKey) return null;
    const outcome = await (options.get ?? ask<T>)(path);
    if (latest.current !== path) return null;
    if (outcome.kind === 'ok') {
      if (options.get && !options.againMs) kept.current = pollKey;
      setHeld({ path, body: outcome.body });
      return options.againMs?.(outcome.body) ?? null;
    }
    if (outcome.kind === 'refused') setHeld({ path, refusal: outcome.detail });
    return outcome.kind === 'unreachable' ? lostMs : null;
  }, pollKey);
  const read = () => {
    kept.current = '';
    poll();
  };
  const known = held?.path === path ? held : undefined;
  const isFirst = path !== undefined && known === undefined && !options.get;
  useLayoutEffect(() => (isFirst ? holdBack() : undefined), [isFirst]);
  return { body: known?.body, refusal: known?.refusal, read };
}

/** The items of a list, page after page. `name` is that of their field. */
export const useList = <Item>(
  path: string | undefined,
  name: string,
  options: { pagesMax: number; key?: string },
) => useRead<Listed<Item>>(path, { ...options, get: (wanted) => askPages<Item>(wanted, name, options) });

/**
 * Changes something.
 *
 * @param then is called with the answer, once it's changed.
 * @returns why it wasn't changed. undefined: it was.
 */
export async function change<T>(
  path: string,
  asked: Parameters<typeof ask>[1],
  then?: (body: T) => void,
): Promise<string | undefined> {
  const outcome = await ask<T>(path, asked);
  // The answer to a click was lost, or was none.
  if (outcome.kind !== 'ok') return ('detail' in outcome && outcome.detail) || "Couldn't save. Retry.";
  then?.(outcome.body);
  return undefined;
}
