import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ask, usePoll } from './api.ts';
import { notDone } from './text.ts';

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
 * @returns `refusal` says why there's no body.
 */
export function useRead<T>(
  path: string | undefined,
  options: { key?: string; againMs?: (body: T) => number | null } = {},
): { body: T | undefined; refusal: string | undefined; read: () => void } {
  const [held, setHeld] = useState<Held<T>>();
  const latest = useRef(path);
  latest.current = path;
  const read = usePoll(async () => {
    if (path === undefined) return null;
    const outcome = await ask<T>(path);
    if (latest.current !== path) return null;
    if (outcome.kind === 'ok') {
      setHeld({ path, body: outcome.body });
      return options.againMs?.(outcome.body) ?? null;
    }
    if (outcome.kind === 'refused') setHeld({ path, refusal: outcome.detail });
    return outcome.kind === 'unreachable' ? lostMs : null;
  }, `${path} ${options.key}`);
  const known = held?.path === path ? held : undefined;
  const isFirst = path !== undefined && known === undefined;
  useLayoutEffect(() => (isFirst ? holdBack() : undefined), [isFirst]);
  return { body: known?.body, refusal: known?.refusal, read };
}

/** Changes something. @returns what was answered; or `problem`, which says why it wasn't changed. */
export async function change<T>(
  path: string,
  asked: Parameters<typeof ask>[1],
): Promise<{ body?: T; problem?: string }> {
  const outcome = await ask<T>(path, asked);
  if (outcome.kind === 'ok') return { body: outcome.body };
  return { problem: outcome.kind === 'refused' ? outcome.detail : notDone };
}
