import type { CliContext } from './context.ts';

/**
 * One line that says what a command waits for. On a terminal it is redrawn in place. Elsewhere each new text is a line
 * of its own, so a text should not count down there.
 */
export class WaitLine {
  /** On a terminal. */
  readonly inPlace: boolean;
  readonly #out: (text: string) => void;
  #shown = '';

  /** @param options.isQuiet print nothing at all. */
  constructor(context: Pick<CliContext, 'out' | 'isTerminal'>, options: { isQuiet: boolean }) {
    this.inPlace = context.isTerminal;
    this.#out = options.isQuiet ? () => undefined : context.out;
  }

  show(text: string): void {
    if (text !== this.#shown) this.#out(this.inPlace ? `\r\u001b[K${text}` : `${text}\n`);
    this.#shown = text;
  }

  /** The last line, which stays. */
  end(text: string): void {
    const clear = this.inPlace && this.#shown !== '' ? '\r\u001b[K' : '';
    this.#out(`${clear}${text}\n`);
  }
}
