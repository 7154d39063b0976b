import type { DelimitedPage } from '../../ports/object-listing.ts';
import type { AnswerReader } from '../s3/exchange.ts';
import { decodeListedKey, escapedText, MalformedPageError } from '../s3/xml.ts';
import { checkPageBytes, errorInBody, readListFrame, textToEnd } from './list-frame.ts';

/** Reads a ListObjectsV2 answer with a delimiter, all of it at its end: such pages are few. */
export class FolderPageReader implements AnswerReader<DelimitedPage> {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  /** @throws {MalformedPageError} when it is too long. */
  write(piece: Buffer): void {
    this.#bytes += piece.length;
    checkPageBytes(this.#bytes);
    this.#pieces.push(Buffer.from(piece));
  }

  /** @throws {MalformedPageError} when the answer is not complete. */
  end(): DelimitedPage {
    const bytes = Buffer.concat(this.#pieces);
    try {
      return readFolderPage(textToEnd(bytes));
    } catch (error) {
      throw errorInBody(bytes.toString('utf8', 0, 4096)) ?? error;
    }
  }
}

function readFolderPage(text: string): DelimitedPage {
  const contents: string[] = [];
  const prefixes: string[] = [];
  const around = text.replace(
    /<(Contents|CommonPrefixes)>(.*?)<\/\1>/gs,
    (_all, kind: string, inner: string) => {
      (kind === 'Contents' ? contents : prefixes).push(inner);
      return '';
    },
  );
  if (around.includes('<CommonPrefixes'))
    throw new MalformedPageError('The page contains an incomplete folder.');
  // S3 counts the folders too. Some stores count the keys alone.
  const { isUrlEncoded, token } = readListFrame(around, [contents.length + prefixes.length, contents.length]);
  return {
    commonPrefixes: prefixes.map((inner) => decodeListedKey(only(inner, 'Prefix'), { isUrlEncoded })),
    keys: contents.map((inner) => ({
      key: decodeListedKey(only(inner, 'Key'), { isUrlEncoded }),
      sizeBytes: sizeOf(only(inner, 'Size')),
    })),
    nextContinuationToken: token,
  };
}

/** The text of an element that must be there, still escaped. */
function only(inner: string, name: string): string {
  const text = escapedText(inner, name);
  if (text === undefined) throw new MalformedPageError(`The page contains an entry without a ${name}.`);
  return text;
}

function sizeOf(digits: string): number {
  const size = Number(digits);
  if (!/^\d+$/.test(digits) || !Number.isSafeInteger(size))
    throw new MalformedPageError('The page contains a size that is not a number of bytes.');
  return size;
}
