import { redactText } from '../../domain/redact-text.ts';
import type { AnswerHead, AnswerReader } from './exchange.ts';

/** The store answered with a status that isn't success. Its name is the code in the answer, such as `SlowDown`. */
export class StoreAnswerError extends Error {
  readonly status: number;
  /** How long the store asks to wait. */
  readonly retryAfterMs: number | undefined;
  /** Where the bucket is, if the store says so. */
  readonly bucketRegion: string | undefined;

  constructor(input: {
    status: number;
    code: string | undefined;
    message: string | undefined;
    head?: AnswerHead;
  }) {
    const { status, head } = input;
    super(redactText(input.message ?? `The store answered ${status}.`));
    // An answer to HEAD has no body, and so no code.
    this.name = input.code ?? (status === 404 ? 'NotFound' : 'Unknown');
    this.status = status;
    this.retryAfterMs = waitOf(headerOf(head, 'retry-after'));
    this.bucketRegion = headerOf(head, 'x-amz-bucket-region');
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

/** More of an error document is not read. */
const errorBytesMax = 16_384;

/** Reads an error document, and throws it as {@link StoreAnswerError}. */
export function refusalReader(head: AnswerHead): AnswerReader<never> {
  return new TextReader(errorBytesMax, (text) => {
    throw new StoreAnswerError({ status: head.status, ...errorIn(text), head });
  });
}

/** Reads an answer whose body says nothing, unless it is an error: S3 may send one with status 200. */
export function emptyReader(): AnswerReader<void> {
  return new TextReader(errorBytesMax, (text) => {
    const { code, message } = errorIn(text);
    if (code !== undefined) throw new StoreAnswerError({ status: 503, code, message });
  });
}

/** What an error document says. Undefined if the text is none. */
export function errorIn(text: string): { code: string | undefined; message: string | undefined } {
  const [, inner] = /<Error>(.*)/s.exec(text) ?? [];
  const part = (name: string) =>
    inner === undefined ? undefined : new RegExp(`<${name}>([^<]+)`).exec(inner)?.[1];
  return { code: part('Code'), message: part('Message') };
}

/** The value of a header that comes once. */
function headerOf(head: AnswerHead | undefined, name: string): string | undefined {
  const value = head?.headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Retry-After is a number of seconds or a date. */
function waitOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : ms;
}
