import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { ScanProgress } from '../../lambda/ports/path-scan.ts';
import type { CliContext } from '../context.ts';
import { formatCount, formatObjects } from '../render.ts';

/** Least time between two updates of the line. */
const progressIntervalMs = 100;
/** Width of a terminal that does not tell its own. */
const columnsDefault = 80;

export interface ProgressTerminal {
  /** Standard error is a terminal: the line is shown. */
  readonly isShown: boolean;
  /** Width at the moment; undefined or 0 if the terminal does not tell it. */
  readonly columns: () => number | undefined;
}

/** One line about a running scan, redrawn in place; nothing without a terminal. */
export class ProgressLine {
  readonly #context: CliContext;
  readonly #terminal: ProgressTerminal;
  readonly #startedMs: number;
  #drawnMs = 0;

  constructor(context: CliContext, terminal: ProgressTerminal) {
    this.#context = context;
    this.#terminal = terminal;
    this.#startedMs = context.nowMs();
  }

  show(progress: ScanProgress): void {
    const nowMs = this.#context.nowMs();
    if (!this.#terminal.isShown || nowMs - this.#drawnMs < progressIntervalMs) return;
    this.#drawnMs = nowMs;
    const { objectCount, storedBytes, requests, share } = progress;
    const perSecond = Math.round(objectCount / Math.max(0.001, (nowMs - this.#startedMs) / 1000));
    const parts = [
      formatObjects(objectCount),
      formatBytes(storedBytes),
      `${formatCount(requests)} ${requests === 1 ? 'request' : 'requests'}`,
      `${formatCount(perSecond)} objects/s`,
      ...(share === undefined ? [] : [`${Math.floor(share * 100)} % of the key space`]),
    ];
    this.#context.err(`\r${fitting(parts, this.#width())}\u001b[K`);
  }

  clear(): void {
    if (this.#drawnMs > 0) this.#context.err('\r\u001b[K');
  }

  /** A line that wraps could not be redrawn in place. The last column is kept free: some terminals wrap at it. */
  #width(): number {
    const columns = this.#terminal.columns() || Number(this.#context.env['COLUMNS']) || columnsDefault;
    return Math.max(0, columns - 1);
  }
}

/** As many of the parts as fit into the width, the first ones first. */
function fitting(parts: readonly string[], width: number): string {
  let text = (parts[0] ?? '').slice(0, width);
  for (const part of parts.slice(1)) {
    const longer = `${text}, ${part}`;
    if (longer.length > width) break;
    text = longer;
  }
  return text;
}
