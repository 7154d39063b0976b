import type { CliContext } from './context.ts';
import { WaitLine } from './wait-line.ts';

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
