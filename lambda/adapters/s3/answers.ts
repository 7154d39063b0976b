import { AnswerError, headerOf, TextReader } from '../aws-http/answers.ts';
import type { AnswerHead, AnswerReader } from '../aws-http/exchange.ts';

/** The store answered with a status that is not success. Its name is the code in the answer, such as `SlowDown`. */
export class StoreAnswerError extends AnswerError {
  /** Where the bucket is, if the store says so. */
  readonly bucketRegion: string | undefined;

  constructor(input: {
    status: number;
    code: string | undefined;
    message: string | undefined;
    head?: AnswerHead;
  }) {
    const { status, head } = input;
    super({
      status,
      // An answer to HEAD has no body, and so no code.
      code: input.code ?? (status === 404 ? 'NotFound' : 'Unknown'),
      message: input.message ?? `The store answered ${status}.`,
      head,
    });
    this.bucketRegion = headerOf(head, 'x-amz-bucket-region');
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
