import { errorIn } from '../s3/answers.ts';
import { elementText, MalformedPageError, utf8Text } from '../s3/xml.ts';

/** The number of entries is not the page's KeyCount. */
export class KeyCountError extends MalformedPageError {}

const resultOpen = '<ListBucketResult';
const resultClose = '</ListBucketResult>';

/** Four times as many as a thousand of the longest keys take. */
const pageBytesMax = 16 * 1024 ** 2;

/**
 * Called for each piece of a page, because what was read of it is kept.
 *
 * @param bytes all so far.
 * @throws {MalformedPageError} to close the connection: a page that does not end is not waited for.
 */
export function checkPageBytes(bytes: number): void {
  if (bytes > pageBytesMax) throw new MalformedPageError(`The page has more than ${pageBytesMax} bytes.`);
}

/** What a page says besides its entries. */
export interface ListFrame {
  readonly isUrlEncoded: boolean;
  /** Undefined: this is the last page. */
  readonly token: string | undefined;
}

/** The text up to the end tag. @throws {MalformedPageError} without that tag: the body was cut off. */
export function textToEnd(bytes: Buffer): string {
  const text = utf8Text(bytes).trimEnd();
  if (!text.endsWith(resultClose))
    throw new MalformedPageError('The page was cut off: its end tag is missing.');
  return text;
}

/**
 * Reads what is around the entries of a ListObjectsV2 answer, and whether it is complete: KeyCount is the number of
 * entries, and there is a token if and only if IsTruncated is true. The order of the elements does not matter: AWS puts
 * the token before the entries, other stores put it after them.
 *
 * @param around the answer up to its end tag, without its entries.
 * @param counts what KeyCount may be.
 * @throws {MalformedPageError}
 */
export function readListFrame(around: string, counts: readonly number[]): ListFrame {
  if (!around.includes(resultOpen)) throw new MalformedPageError('The answer is not a ListBucketResult.');
  if (around.includes('<Contents')) throw new MalformedPageError('The page contains an incomplete entry.');
  checkKeyCount(elementText(around, 'KeyCount'), counts);
  const isTruncated = elementText(around, 'IsTruncated');
  const token = elementText(around, 'NextContinuationToken') || undefined;
  if (isTruncated !== (token === undefined ? 'false' : 'true')) {
    throw new MalformedPageError(
      `The page has IsTruncated "${isTruncated}", but ${token === undefined ? 'no' : 'a'} continuation token.`,
    );
  }
  return { isUrlEncoded: elementText(around, 'EncodingType') === 'url', token };
}

function checkKeyCount(keyCount: string | undefined, counts: readonly number[]): void {
  if (keyCount === undefined) {
    throw new MalformedPageError('The answer has no KeyCount: the store does not speak ListObjectsV2.');
  }
  if (!counts.some((count) => keyCount === String(count)))
    throw new KeyCountError(`The page has KeyCount ${keyCount}, but contains ${counts[0]} keys.`);
}

/** An error document with status 200, which S3 sends when it fails after it began to answer. */
export function errorInBody(text: string): MalformedPageError | undefined {
  const { code } = errorIn(text);
  return code === undefined
    ? undefined
    : new MalformedPageError(`The store answered 200 with the error ${code}.`);
}
