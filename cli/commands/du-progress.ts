import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { ScanProgress } from '../../lambda/ports/path-scan.ts';
import type { CliContext } from '../context.ts';

/** Between two drawings. */
const progressIntervalMs = 100;

/** Digits in groups of three. */
export function group(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** One line that is drawn over itself, where a person watches. */
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
    this.#context.err(
      `\r${group(objectCount)} objects, ${formatBytes(storedBytes)}, ${group(requests)} requests, ` +
        `${group(perSecond)} objects/s, ${Math.floor(share * 100)} % of the key space\u001b[K`,
    );
  }

  clear(): void {
    if (this.#drawnMs > 0) this.#context.err('\r\u001b[K');
  }
}
