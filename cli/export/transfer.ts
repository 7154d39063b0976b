import { formatBytes } from '../../lambda/rules/sizes.ts';
import type { CliContext } from '../context.ts';
import { Rate, type WaitLine } from '../progress.ts';
import { formatDuration } from '../render.ts';

/** An attempt that gets nothing for so long is given up. */
const idleMs = 60_000;
/** The line is drawn anew. */
const redrawMs = 500;

/**
 * Asks once for what is missing of an object that may have arrived in part.
 *
 * @param request.from bytes that have arrived. @param request.sizeBytes all of them.
 * @param into.restart called before all comes, not only what is missing: what has arrived is of no use.
 * @returns an answer that brings nothing, with what an error says; undefined: all that came was appended.
 * @throws what the transfer ended with.
 */
export async function transferRest(
  request: {
    href: string;
    header?: Readonly<Record<string, string>>;
    from: number;
    sizeBytes: number;
    stop: AbortSignal;
  },
  into: { restart: () => unknown; append: (piece: Uint8Array) => Promise<void> },
): Promise<{ status: number; text: string } | undefined> {
  const { href, header = {}, from, sizeBytes, stop } = request;
  const idle = new AbortController();
  const timer = setTimeout(() => idle.abort(new Error(`Nothing arrived for ${idleMs / 1000} s.`)), idleMs);
  try {
    const range = from > 0 ? { range: `bytes=${from}-` } : {};
    const headers = { ...header, ...range, 'accept-encoding': 'identity' };
    const response = await fetch(href, { headers, signal: AbortSignal.any([stop, idle.signal]) });
    const { status } = response;
    const rest = `bytes ${from}-${sizeBytes - 1}/${sizeBytes}`;
    const isRest = status === 206 && response.headers.get('content-range') === rest;
    if (!isRest && status !== 200) {
      if (status >= 400) return { status, text: await response.text() };
      // It may be as long as an object.
      await response.body?.cancel();
      return { status, text: '' };
    }
    // A store that knows no ranges sends all of it.
    if (!isRest) await into.restart();
    for await (const piece of response.body ?? []) {
      timer.refresh();
      await into.append(piece);
    }
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** The store did not give what was asked for. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
}

/** How far a transfer is, on standard error. */
export class TransferProgress {
  readonly #context: Pick<CliContext, 'nowMs'>;
  readonly #line: WaitLine;
  readonly #title: string;
  readonly #rate = new Rate();
  #shownMs = 0;

  /** @param title what each text begins with. */
  constructor(context: Pick<CliContext, 'nowMs'>, line: WaitLine, title = '') {
    this.#context = context;
    this.#line = line;
    this.#title = title;
  }

  /** Shows it now and then. @param more what else a terminal has. */
  show({ bytes, totalBytes }: { bytes: number; totalBytes: number }, more?: () => string): void {
    const nowMs = this.#context.nowMs();
    if (nowMs - this.#shownMs < redrawMs) return;
    this.#shownMs = nowMs;
    this.#rate.note({ ms: nowMs, done: bytes });
    const share = totalBytes === 0 ? 1 : bytes / totalBytes;
    if (!this.#line.inPlace) {
      this.#line.show(`${this.#title}${Math.floor(share * 10) * 10} %`);
      return;
    }
    const { perSecond } = this.#rate;
    const parts = [
      `${this.#title}${(share * 100).toFixed(1)} %`,
      `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`,
      ...(perSecond ? [`${formatBytes(Math.round(perSecond))}/s`] : []),
      ...(perSecond ? [`${formatDuration(((totalBytes - bytes) * 1000) / perSecond)} left`] : []),
      ...(more === undefined ? [] : [more()]),
    ];
    this.#line.show(parts.join(', '));
  }
}

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
