import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { ScanProgress } from '../../lambda/ports/path-scan.ts';
import type { CliContext } from '../context.ts';
import { formatCount, formatObjects } from '../render.ts';

/** Least time between two updates of the line. */
const progressIntervalMs = 100;

/** One line about a running scan, redrawn in place; nothing without a terminal. */
export class ProgressLine {
  readonly #context: CliContext;
  readonly #isShown: boolean;
  readonly #startedMs: number;
  #drawnMs = 0;

  constructor(context: CliContext, isShown: boolean) {
    this.#context = context;
    this.#isShown = isShown;
    this.#startedMs = context.nowMs();
  }

  show(progress: ScanProgress): void {
    const nowMs = this.#context.nowMs();
    if (!this.#isShown || nowMs - this.#drawnMs < progressIntervalMs) return;
    this.#drawnMs = nowMs;
    const { objectCount, storedBytes, requests, share } = progress;
    const perSecond = Math.round(objectCount / Math.max(0.001, (nowMs - this.#startedMs) / 1000));
    const text =
      `${formatObjects(objectCount)}, ${formatBytes(storedBytes)}, ${formatCount(requests)} requests, ` +
      `${formatCount(perSecond)} objects/s, ${Math.floor(share * 100)} % of the key space`;
    // A line that wraps could not be redrawn in place.
    const columns = process.stderr.columns ?? text.length + 1;
    this.#context.err(`\r${text.slice(0, columns - 1)}\u001b[K`);
  }

  clear(): void {
    if (this.#drawnMs > 0) this.#context.err('\r\u001b[K');
  }
}
