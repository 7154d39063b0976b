import type { CliContext } from '../context.ts';

/** Ctrl-C, while a command waits or downloads. */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** Sleeps, or returns at once when the person interrupts. */
  readonly sleep: (durationMs: number) => Promise<void>;
  readonly release: () => void;
}

/** Listens for the first Ctrl-C. The second one ends the process. */
export function listenForInterrupt(context: Pick<CliContext, 'onInterrupt' | 'sleep'>): Interrupt {
  const stop = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const release = context.onInterrupt?.(() => stop.abort());
  return {
    signal: stop.signal,
    sleep: (durationMs) => Promise.race([context.sleep(durationMs), stopped]),
    release: () => release?.(),
  };
}
