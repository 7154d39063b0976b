import type { AnswerHead, AnswerReader } from './exchange.ts';

/** The store answered with a status that is not success. Its name is the code in the answer, such as `SlowDown`. */
export class StoreAnswerError extends Error {
  readonly status: number;
  /** Where the bucket is, if the store says so. */
  readonly bucketRegion: string | undefined;
  /** How long the store asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(input: {
    status: number;
    code: string | undefined;
    message: string | undefined;
    head?: AnswerHead;
  }) {
    const { status, code, message, head } = input;
    super(message ?? `The store answered ${status}.`);
    // An answer to HEAD has no body, and so no code.
    this.name = code ?? (status === 404 ? 'NotFound' : 'Unknown');
    this.status = status;
    this.bucketRegion = textOf(head?.headers['x-amz-bucket-region']);
    this.retryAfterMs = waitOf(textOf(head?.headers['retry-after']));
  }
}

/** The answer cannot be the truth, whatever its status says. It may be right the next time. */
export class MalformedAnswerError extends Error {
  override readonly name: string = 'MalformedAnswerError';
}

/** More of an error document is not read. */
const errorBytesMax = 16_384;

/** Reads a text to its end, or to the most that is read of it. */
class TextReader<T> implements AnswerReader<T> {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  readonly #finish: (text: string) => T;

  constructor(finish: (text: string) => T) {
    this.#finish = finish;
  }

  /** @throws {MalformedAnswerError} to close the connection: who talks without end is not waited for. */
  write(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes <= errorBytesMax) return;
    this.end();
    throw new MalformedAnswerError(`The answer has more than ${errorBytesMax} bytes.`);
  }

  end(): T {
    return this.#finish(Buffer.concat(this.#pieces).toString());
  }
}

/** Reads an error document, and throws it as {@link StoreAnswerError}. */
export function refusalReader(head: AnswerHead): AnswerReader<never> {
  return new TextReader((text) => {
    throw new StoreAnswerError({ status: head.status, ...errorIn(text), head });
  });
}

/** Reads an answer whose body says nothing, unless it is an error: S3 may send one with status 200. */
export function emptyReader(): AnswerReader<void> {
  return new TextReader((text) => {
    const { code, message } = errorIn(text);
    if (code !== undefined) throw new StoreAnswerError({ status: 503, code, message });
  });
}

/** What an error document says. Undefined if the text is none. */
function errorIn(text: string): { code: string | undefined; message: string | undefined } {
  const [, inner] = /<Error>(.*)/s.exec(text) ?? [];
  const part = (name: string) =>
    inner === undefined ? undefined : new RegExp(`<${name}>([^<]+)`).exec(inner)?.[1];
  return { code: part('Code'), message: part('Message') };
}

function textOf(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Retry-After is a number of seconds or a date. */
function waitOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : ms;
}
