import { type CliContext, canRedraw } from './context.ts';
import { CliError } from './errors.ts';
import { shortened, terminalWidth } from './terminal.ts';

const clear = '\r\u001b[K';
/** The line that is seen at the moment: there is room for one. */
const seen = new WeakMap<CliContext, WaitLine>();

/**
 * One line on standard error that says what a command waits for. On a terminal it is redrawn in place. Elsewhere each
 * new text is a line of its own, so a text should not count down there.
 */
export class WaitLine {
  /** On a terminal. */
  readonly inPlace: boolean;
  readonly #context: CliContext;
  readonly #isQuiet: boolean;
  #shown = '';

  /** @param options.isQuiet show nothing where it could not be redrawn, and print no result. */
  constructor(context: CliContext, options: { isQuiet: boolean }) {
    this.inPlace = canRedraw(context, 'err');
    this.#context = context;
    this.#isQuiet = options.isQuiet;
  }

  show(text: string): void {
    if (text === this.#shown || (this.#isQuiet && !this.inPlace)) return;
    seen.set(this.#context, this);
    this.#context.err(this.inPlace ? `${clear}${shortened(text, this.width)}` : `${text}\n`);
    this.#shown = text;
  }

  /** The last column is kept free: some terminals wrap at it, and then the line could not be redrawn. */
  get width(): number {
    return (terminalWidth(this.#context, 'err') ?? Number.POSITIVE_INFINITY) - 1;
  }

  /** Takes it away, before anything else is printed. */
  clear(): void {
    if (this.inPlace && this.#shown !== '') this.#context.err(clear);
    this.#shown = '';
    if (seen.get(this.#context) === this) seen.delete(this.#context);
  }

  /** Whether no other line is seen. */
  get isFree(): boolean {
    const line = seen.get(this.#context);
    return line === undefined || line === this;
  }

  /** @param text what came of it, for standard output. */
  end(text: string): void {
    this.clear();
    if (!this.#isQuiet) this.#context.out(`${text}\n`);
  }
}

/** What takes no longer says nothing. */
const quietMs = 1000;
const redrawMs = 250;

/**
 * Says on standard error, if that is a terminal, what a command waits for once that takes over a second. Without a
 * terminal it says nothing: nobody looks.
 */
export class BusyLine {
  readonly #context: CliContext;
  readonly #line: WaitLine;
  /** Of what is under way, the outermost first: that one is shown. */
  readonly #texts: (() => string)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #beganMs = 0;

  constructor(context: CliContext) {
    this.#context = context;
    this.#line = new WaitLine(context, { isQuiet: true });
  }

  /** @param text what is under way, at the moment. @returns what says that it has ended. */
  begin(text: () => string): () => void {
    if (!this.#line.inPlace) return () => undefined;
    if (this.#texts.length === 0) this.#beganMs = this.#context.nowMs();
    this.#texts.push(text);
    this.#timer ??= setInterval(() => this.#draw(), redrawMs).unref();
    return () => this.#end(text);
  }

  /** The same around some work. */
  async during<T>(text: () => string, work: () => Promise<T>): Promise<T> {
    const end = this.begin(text);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** Before something is printed meanwhile. The line comes again. */
  hide(): void {
    this.#line.clear();
  }

  #draw(): void {
    const [text] = this.#texts;
    const waitedMs = this.#context.nowMs() - this.#beganMs;
    if (text === undefined || waitedMs < quietMs || !this.#line.isFree) return;
    this.#line.show(`${text()} (${Math.floor(waitedMs / 1000)} s)`);
  }

  #end(text: () => string): void {
    this.#texts.splice(this.#texts.lastIndexOf(text), 1);
    if (this.#texts.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#line.clear();
  }
}

/** Rates are those of about this long, so that they follow what happens. */
const windowMs = 20_000;

/** How fast something is done, of late. */
export class Rate {
  readonly #samples: { readonly ms: number; readonly done: number }[] = [];

  /** @param sample.done all that was done so far. If it is less than before, it begins anew. */
  note(sample: { ms: number; done: number }): void {
    if (sample.done < (this.#samples.at(-1)?.done ?? 0)) this.#samples.length = 0;
    this.#samples.push(sample);
    while ((this.#samples[1]?.ms ?? Number.POSITIVE_INFINITY) <= sample.ms - windowMs) this.#samples.shift();
  }

  /** What is done in a second; undefined as long as nothing can be told. */
  get perSecond(): number | undefined {
    const [oldest, newest] = [this.#samples[0], this.#samples.at(-1)];
    if (!oldest || !newest || newest.ms <= oldest.ms) return undefined;
    return ((newest.done - oldest.done) * 1000) / (newest.ms - oldest.ms);
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

export const pollMs = 2_000;
/** Polls in a row that fail: what is waited for may take hours, and a connection breaks now and then. */
const failedPollsMax = 5;

/**
 * Waits until something on the server has ended, and shows how far it is.
 *
 * @param wait.textOf what is shown of it, where it is redrawn in place or not. undefined: it has ended.
 * @param wait.what such as `The export`. @param wait.hint what to do once nobody waits any more.
 * @param wait.isQuiet show nothing.
 * @throws {CliError} on Ctrl-C, or when several polls in a row failed.
 */
export async function waitUntilEnded<T>(
  context: CliContext,
  wait: {
    poll: () => Promise<T>;
    textOf: (polled: T, inPlace: boolean) => string | undefined;
    what: string;
    hint: string;
    isQuiet: boolean;
  },
): Promise<T> {
  const line = new WaitLine(context, wait);
  const interrupt = listenForInterrupt(context);
  try {
    for (let failures = 0; ; ) {
      try {
        const polled = await wait.poll();
        failures = 0;
        const text = wait.textOf(polled, line.inPlace);
        if (text === undefined) return polled;
        line.show(text);
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        failures += 1;
        if (failures >= failedPollsMax) throw stoppedWaiting(wait, error);
      }
      await interrupt.sleep(pollMs);
      if (interrupt.signal.aborted) throw stoppedWaiting(wait);
    }
  } finally {
    line.clear();
    interrupt.release();
  }
}

/** @param cause why nobody waits any more, if it was not the person. */
function stoppedWaiting({ what, hint }: { what: string; hint: string }, cause?: CliError): CliError {
  if (cause === undefined)
    return new CliError(`Stopped waiting. ${what} continues on the server.`, {
      hint,
      failure: 'interrupted',
    });
  const why = cause.message.replace(/\.?$/, '.');
  return new CliError(`${why} ${what} might continue on the server.`, { hint, cause });
}
