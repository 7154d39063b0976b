import { type CliContext, canRedraw } from './context.ts';
import { shortened } from './display-width.ts';
import { terminalWidth } from './view.ts';

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
    // The last column is kept free: some terminals wrap at it, and then the line could not be redrawn.
    const width = (terminalWidth(this.#context, 'err') ?? Number.POSITIVE_INFINITY) - 1;
    seen.set(this.#context, this);
    this.#context.err(this.inPlace ? `${clear}${shortened(text, width)}` : `${text}\n`);
    this.#shown = text;
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
