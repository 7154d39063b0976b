import { formatBytes } from '../lambda/core/rules/sizes.ts';
import { errorCode } from '../local/system/durable-file.ts';
import type { CliContext } from './context.ts';
import { CliError } from './errors.ts';
import { listenForInterrupt, Rate, WaitLine } from './progress.ts';
import { formatDuration } from './render.ts';

/** What transfers have in common: retries, and what shows how far they are. */

/** An attempt that gets nothing for so long is given up. */
export const idleMs = 60_000;
/** Attempts in a row that bring nothing. */
const attemptsMax = 6;
/** Pause before the second of them, doubled each time. */
const pauseMs = 500;
/** No server makes a person wait longer. */
const waitMaxMs = 5 * 60_000;
/** The line is drawn anew. */
const redrawMs = 500;

export interface DownloadDeps {
  /** Ends all attempts. */
  readonly stop: AbortSignal;
  readonly sleep: (durationMs: number) => Promise<void>;
}

export type Attempt<T> =
  | { readonly kind: 'done'; readonly value: T }
  /**
   * @property gotOn it brought something, so that the count of attempts begins anew.
   * @property waitMs the shortest pause that the other side asks for.
   */
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      readonly gotOn?: boolean;
      readonly waitMs?: number | undefined;
    };

/** Tries again what may succeed the next time. @throws what the last attempt failed with, or the reason of the stop. */
export async function retrying<T>(
  { stop, sleep }: DownloadDeps,
  attempt: () => Promise<Attempt<T>>,
): Promise<T> {
  for (let failures = 0; ; ) {
    stop.throwIfAborted();
    const outcome = await attempt();
    if (outcome.kind === 'done') return outcome.value;
    failures = outcome.gotOn === true ? 1 : failures + 1;
    stop.throwIfAborted();
    if (failures >= attemptsMax) throw outcome.error;
    await sleep(Math.max(pauseMs * 2 ** (failures - 1), Math.min(outcome.waitMs ?? 0, waitMaxMs)));
  }
}

/** Ends a transfer that gets nothing on, until `end`. */
export function idleTimer(stop: AbortSignal) {
  const idle = new AbortController();
  const silent = new TransferError(`Nothing arrived for ${idleMs / 1000} s.`);
  const timer = setTimeout(() => idle.abort(silent), idleMs);
  return {
    signal: AbortSignal.any([stop, idle.signal]),
    gotOn: () => void timer.refresh(),
    end: () => clearTimeout(timer),
  };
}

/**
 * The texts of `fetch` may have the URL, whose signature lets anybody in: of those the code alone is told.
 *
 * @param where such as ` to the store`.
 */
export function throwBroken(where: string, error: unknown): never {
  if (error instanceof TransferError) throw error;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof TransferError) throw cause;
  const code = errorCode(cause);
  throw new TransferError(`The connection${where} failed${code === undefined ? '' : ` (${code})`}.`, {
    cause: error,
  });
}

/** The store did not give what was asked for. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
}

/**
 * Why an archive, or whatever else was to arrive, is not complete, for a person.
 *
 * @param download.goOn how to go on. @returns the same error if it says that, or is a bug.
 */
export function downloadFailure(
  error: unknown,
  {
    isStopped,
    file,
    goOn: hint,
    incomplete = "The archive isn't complete.",
  }: { isStopped: boolean; file: string; goOn: string; incomplete?: string },
): unknown {
  if (isStopped) return new CliError('Stopped.', { hint, failure: 'interrupted', cause: error });
  if (error instanceof TransferError)
    return new CliError(`${incomplete} ${error.message}`, {
      hint,
      failure: 'unavailable',
      cause: error,
    });
  if (error instanceof CliError)
    return error.failure === 'unavailable'
      ? new CliError(error.message, { hint: `${error.hint}\n${hint}`, cause: error })
      : error;
  const code = errorCode(error);
  // Node's own errors have an underscore in their code.
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error;
  return new CliError(`Can't write ${file} (${code}).`, {
    hint: `Free up space, or use a file that you can write. ${hint}`,
    cause: error,
  });
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

/** What a transfer calls, with the bytes that went on, and with those that it has to move besides. */
interface ShownTransfer {
  readonly onBytes: (bytes: number) => void;
  readonly onTotal: (bytes: number) => void;
  /** Tells a person at once. */
  readonly say: (text: string) => void;
  /** For what else is shown. */
  readonly line: WaitLine;
}

export const continues = 'Run the command again: it continues with what is missing.';

/** Shows how far a transfer is until it has ended. @throws {CliError} that says how to go on, as {@link downloadFailure} has it. */
export async function transferring<T>(
  context: CliContext,
  shown: Omit<Parameters<typeof downloadFailure>[1], 'isStopped'> & {
    isQuiet: boolean;
    totalBytes: number;
    /** What each text begins with. */
    title?: string;
  },
  work: (deps: DownloadDeps, on: ShownTransfer) => Promise<T>,
): Promise<T> {
  const line = new WaitLine(context, shown);
  const progress = new TransferProgress(context, line, shown.title);
  const { signal: stop, sleep, release } = listenForInterrupt(context);
  const sum = { bytes: 0, totalBytes: shown.totalBytes };
  const adder = (to: keyof typeof sum) => (bytes: number) => {
    sum[to] += bytes;
    progress.show(sum);
  };
  const say = (text: string) => {
    line.clear();
    context.err(text);
  };
  try {
    return await work({ stop, sleep }, { onBytes: adder('bytes'), onTotal: adder('totalBytes'), say, line });
  } catch (error) {
    line.clear();
    throw downloadFailure(error, { isStopped: stop.aborted, ...shown });
  } finally {
    line.clear();
    release();
  }
}
