import type { AnswerHead, AnswerReader } from './exchange.ts';

/** An answer with a status that is not success. The error's name is the code in the answer, such as `SlowDown`. */
export class AnswerError extends Error {
  readonly status: number;
  /** How long the other side asks to wait. */
  readonly retryAfterMs: number | undefined;
  /** By the clock of the other side. NaN: it does not say. */
  readonly sentAtMs: number;

  constructor(input: { status: number; code: string; message: string; head?: AnswerHead | undefined }) {
    super(input.message);
    this.name = input.code;
    this.status = input.status;
    this.retryAfterMs = waitOf(headerOf(input.head, 'retry-after'));
    this.sentAtMs = Date.parse(headerOf(input.head, 'date') ?? '');
  }
}

/** The answer cannot be the truth, whatever its status says. It may be right the next time. */
export class MalformedAnswerError extends Error {
  override readonly name: string = 'MalformedAnswerError';
}

/** Reads a text to its end, or to the most that is read of it. */
export class TextReader<T> implements AnswerReader<T> {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  readonly #bytesMax: number;
  readonly #finish: (text: string) => T;

  /** @param finish makes the result, or throws. */
  constructor(bytesMax: number, finish: (text: string) => T) {
    this.#bytesMax = bytesMax;
    this.#finish = finish;
  }

  /** @throws {MalformedAnswerError} to close the connection: who talks without end is not waited for. */
  write(piece: Buffer): void {
    this.#pieces.push(Buffer.from(piece));
    this.#bytes += piece.length;
    if (this.#bytes <= this.#bytesMax) return;
    this.end();
    throw new MalformedAnswerError(`The answer has more than ${this.#bytesMax} bytes.`);
  }

  end(): T {
    return this.#finish(Buffer.concat(this.#pieces).toString());
  }
}

/** The value of a header that comes once. */
export function headerOf(head: AnswerHead | undefined, name: string): string | undefined {
  const value = head?.headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Retry-After is a number of seconds or a date. */
function waitOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : ms;
}
