import { EntryReader } from './entries.ts';
import { ScannedPage } from './page.ts';
import { elementText, MalformedPageError, utf8Text } from './xml.ts';

const contentsOpen = Buffer.from('<Contents>');
const contentsClose = Buffer.from('</Contents>');
const resultOpen = '<ListBucketResult';
const resultClose = '</ListBucketResult>';

/** Longer than the rest of nearly any entry. */
const seamBytes = 1024;

/** The number of entries is not the page's KeyCount. */
export class KeyCountError extends MalformedPageError {}

/**
 * Reads a ListObjectsV2 answer, piece by piece, for what a scan needs: the sizes, the number of keys, and where the
 * listing continues. Keys stay bytes until they are read. Nothing else is kept.
 *
 * The answer must be complete: it has its end tag, each entry has exactly one key and one size, KeyCount is the number
 * of entries, and there is a token if and only if IsTruncated is true. The order of the elements does not matter: AWS
 * puts the token before the entries, other stores put it after them.
 */
export class ListPageReader {
  readonly #entries: EntryReader;
  /** The text before the first entry, once that was found. */
  #head: string | undefined;
  /** Unread bytes: of the head, of an entry whose end has not arrived, or of the text after the last entry. */
  #pending: Buffer = Buffer.alloc(0);

  /**
   * @param options.isPredicting look for the parts of an entry where the previous one had them. If the lengths of
   *   entries differ very much, this may skip entries, which ends in a {@link KeyCountError}.
   */
  constructor(options: { isPredicting: boolean }) {
    this.#entries = new EntryReader(options);
  }

  /** The beginning of an answer without entries, most likely an error document. Empty if there are entries. */
  get textWithoutEntries(): string {
    return this.#head === undefined ? this.#pending.toString('utf8', 0, 4096) : '';
  }

  /** Reads the next piece. @throws {MalformedPageError} */
  write(piece: Buffer): void {
    const joined = this.#head === undefined ? undefined : this.#readSeam(piece);
    const bytes = joined === undefined ? this.#withPending(piece) : piece;
    let start = joined ?? 0;
    if (this.#head === undefined) {
      start = bytes.indexOf(contentsOpen);
      if (start < 0) {
        this.#pending = bytes;
        return;
      }
      this.#head = utf8Text(bytes.subarray(0, start));
    }
    const lastClose = bytes.lastIndexOf(contentsClose);
    const end = lastClose < start ? start : lastClose + contentsClose.length;
    this.#entries.read(bytes, { start, end });
    // Copied, because a slice would keep the whole piece in memory.
    this.#pending = Buffer.from(bytes.subarray(end));
  }

  /**
   * Reads the entry that began in the previous piece, without joining the two pieces.
   *
   * @returns where in the piece the entry ends; undefined if that is not within its first bytes.
   */
  #readSeam(piece: Buffer): number | undefined {
    if (this.#pending.length === 0) return 0;
    const seam = Buffer.concat([this.#pending, piece.subarray(0, seamBytes)]);
    const close = seam.indexOf(contentsClose);
    if (close < 0) return undefined;
    const end = close + contentsClose.length;
    this.#entries.read(seam, { start: 0, end });
    return end - this.#pending.length;
  }

  #withPending(piece: Buffer): Buffer {
    return this.#pending.length === 0 ? piece : Buffer.concat([this.#pending, piece]);
  }

  /** The page, after the last piece. @throws {MalformedPageError} when the answer is not complete. */
  end(): ScannedPage {
    const around = (this.#head ?? '') + textToEnd(this.#pending);
    if (!around.includes(resultOpen)) throw new MalformedPageError('The answer is not a ListBucketResult.');
    if (around.includes('<Contents')) throw new MalformedPageError('The page contains an incomplete entry.');
    const { count, sizes, keyBytes, keyEnds, totalBytes } = this.#entries;
    checkKeyCount(elementText(around, 'KeyCount'), count);
    const isTruncated = elementText(around, 'IsTruncated');
    const token = elementText(around, 'NextContinuationToken') || undefined;
    if (isTruncated !== (token === undefined ? 'false' : 'true')) {
      throw new MalformedPageError(
        `The page has IsTruncated "${isTruncated}", but ${token === undefined ? 'no' : 'a'} continuation token.`,
      );
    }
    const isUrlEncoded = elementText(around, 'EncodingType') === 'url';
    return new ScannedPage({ count, sizes, keyBytes, keyEnds, totalBytes, isUrlEncoded, token });
  }
}

function checkKeyCount(keyCount: string | undefined, found: number): void {
  if (keyCount === undefined) {
    throw new MalformedPageError('The answer has no KeyCount: the store does not speak ListObjectsV2.');
  }
  if (keyCount !== String(found)) {
    throw new KeyCountError(`The page has KeyCount ${keyCount}, but contains ${found} keys.`);
  }
}

/** The text up to the end tag. Without that tag the body was cut off. */
function textToEnd(bytes: Buffer): string {
  const text = utf8Text(bytes).trimEnd();
  if (!text.endsWith(resultClose))
    throw new MalformedPageError('The page was cut off: its end tag is missing.');
  return text;
}
