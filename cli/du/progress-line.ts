import { formatBytes } from '../../lambda/domain/bytes.ts';
import type { CliContext } from '../context.ts';
import { Rate } from '../rate.ts';
import { formatCount, formatDollars, formatDuration, formatObjects, formatRequests } from '../render.ts';
import { terminalWidth } from '../view.ts';
import type { DuProgress } from './count.ts';

/** Least time between two updates of the line. */
const progressIntervalMs = 100;
/** Least time between two samples for the rates. */
const sampleIntervalMs = 500;
/** Without a terminal: least time between two lines. The first one comes after this time, too. */
const plainIntervalMs = 30_000;
/** A share that is made of an estimate does not exceed this before the end. */
const estimatedShareHighest = 0.99;

interface ProgressTerminal {
  /** Standard error is a terminal: the line is redrawn in place. Otherwise there is a new one now and then. */
  readonly isTerminal: boolean;
  /** Width at the moment; undefined or 0 if the terminal does not tell it. */
  readonly columns: () => number | undefined;
}

export interface ProgressOptions {
  readonly terminal: ProgressTerminal;
  /** Dollars for the requests of a count; undefined: nobody knows. */
  readonly dollarsOf: (sums: DuProgress['sums']) => number | undefined;
  /** About how many objects there are; undefined: nobody knows. */
  readonly hintObjects: number | undefined;
}

/** What a running scan has done, on standard error. */
export class ProgressLine {
  readonly #context: CliContext;
  readonly #options: ProgressOptions;
  readonly #objects = new Rate();
  readonly #requests = new Rate();
  #shownMs: number;
  #sampledMs = 0;
  #isDrawn = false;

  constructor(context: CliContext, options: ProgressOptions) {
    this.#context = context;
    this.#options = options;
    this.#shownMs = options.terminal.isTerminal ? 0 : context.nowMs();
  }

  /** @param progressOf is called only if it is needed: a scan may have a thousand pages a second. */
  show(progressOf: () => DuProgress): void {
    const nowMs = this.#context.nowMs();
    const { isTerminal } = this.#options.terminal;
    const isDue = nowMs - this.#shownMs >= (isTerminal ? progressIntervalMs : plainIntervalMs);
    if (!isDue && nowMs - this.#sampledMs < sampleIntervalMs) return;
    const progress = progressOf();
    const { objects, requests } = progress.sums;
    this.#sampledMs = nowMs;
    this.#objects.note({ ms: nowMs, done: objects });
    this.#requests.note({ ms: nowMs, done: requests });
    if (!isDue) return;
    this.#shownMs = nowMs;
    const parts = this.#partsOf(progress);
    if (!isTerminal) {
      this.#context.err(`${parts.join(', ')}\n`);
      return;
    }
    this.#isDrawn = true;
    this.#context.err(`\r${fitting(parts, this.#width())}\u001b[K`);
  }

  clear(): void {
    if (this.#isDrawn) this.#context.err('\r\u001b[K');
    this.#isDrawn = false;
  }

  /** The most important first: a narrow terminal does not show all. */
  #partsOf({ sums, share, slowedTo }: DuProgress): string[] {
    const { objects, bytes, requests } = sums;
    const { hintObjects, dollarsOf } = this.#options;
    const objectRate = this.#objects.perSecond;
    const requestRate = this.#requests.perSecond;
    const done =
      share ??
      (hintObjects === undefined ? undefined : Math.min(estimatedShareHighest, objects / hintObjects));
    const dollars = dollarsOf(sums);
    const leftMs = done && objectRate ? ((objects / done - objects) / objectRate) * 1000 : undefined;
    return [
      formatObjects(objects),
      formatBytes(Number(bytes)),
      ...(done === undefined ? [] : [`${Math.floor(done * 100)} % done`]),
      ...(leftMs === undefined ? [] : [`${formatDuration(leftMs)} left`]),
      ...(objectRate === undefined ? [] : [`${formatCount(Math.round(objectRate))} objects/s`]),
      formatRequests(requests) + (dollars === undefined ? '' : ` (${formatDollars(dollars)})`),
      ...(requestRate === undefined ? [] : [`${formatCount(Math.round(requestRate))} requests/s`]),
      ...(slowedTo === undefined ? [] : [`the store asked to slow down to ${Math.ceil(slowedTo)}/s`]),
    ];
  }

  /** A line that wraps could not be redrawn in place. The last column is kept free: some terminals wrap at it. */
  #width(): number {
    const { columns: errColumns } = this.#options.terminal;
    const columns = terminalWidth({ ...this.#context, errIsTerminal: true, errColumns }, 'err') ?? 0;
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
