import { EntryReader } from './entries.ts';
import { ScannedPage } from './page.ts';
import { elementText, MalformedPageError } from './xml.ts';

const contentsOpen = Buffer.from('<Contents>');
const contentsClose = Buffer.from('</Contents>');
const resultOpen = '<ListBucketResult';
const resultClose = '</ListBucketResult>';

/** Longer than what is left of nearly any entry. */
const seamBytes = 1024;

/** There are not as many entries as the page says. */
export class KeyCountError extends MalformedPageError {}

/**
 * Reads a ListObjectsV2 answer, piece by piece, for what a scan needs: the sizes, the number of keys, and where
 * the listing goes on. Keys stay bytes until they are asked for; of all else nothing is kept.
 *
 * The answer must be whole: its end tag is there, each entry has one key and one size, there are as many as
 * KeyCount says, and a token goes with IsTruncated. The order of the elements does not matter: AWS puts the
 * token before the entries, others after them.
 */
export class ListPageReader {
  readonly #entries: EntryReader;
  /** What precedes the first entry, once that was found. */
  #head: string | undefined;
  /** Bytes that are not read yet: of the head, of an entry whose end has not arrived, or of what follows the last. */
  #pending: Buffer = Buffer.alloc(0);

  /**
   * @param options.isPredicting looks for the parts of an entry where they stood in the one before. Entries of
   *   very different lengths may hide one another from that, which ends in a {@link KeyCountError}.
   */
  constructor(options: { isPredicting: boolean }) {
    this.#entries = new EntryReader(options);
  }

  /** The beginning of an answer that holds no entries: an error document, most likely. */
  get textWithoutEntries(): string {
    return this.#head === undefined ? this.#pending.toString('utf8', 0, 4096) : '';
  }

  /** Takes the next piece. @throws {MalformedPageError} */
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
      this.#head = bytes.toString('latin1', 0, start);
    }
    const lastClose = bytes.lastIndexOf(contentsClose);
    const end = lastClose < start ? start : lastClose + contentsClose.length;
    this.#entries.read(bytes, { start, end });
    // A copy: a slice would keep the whole piece from being freed.
    this.#pending = Buffer.from(bytes.subarray(end));
  }

  /**
   * Reads the entry that began in the piece before, without joining the two pieces whole.
   *
   * @returns where in the piece it ends; undefined where that is not near its beginning.
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

  /** The page, when all pieces were taken. @throws {MalformedPageError} where the answer is not whole. */
  end(): ScannedPage {
    const around = (this.#head ?? '') + textToEnd(this.#pending);
    if (!around.includes(resultOpen)) throw new MalformedPageError('The answer is no ListBucketResult.');
    if (around.includes('<Contents'))
      throw new MalformedPageError('A page holds an entry that is not whole.');
    const { count, sizes, keyBytes, keyEnds, totalBytes } = this.#entries;
    checkKeyCount(elementText(around, 'KeyCount'), count);
    const isTruncated = elementText(around, 'IsTruncated');
    const token = elementText(around, 'NextContinuationToken') || undefined;
    if (isTruncated !== (token === undefined ? 'false' : 'true')) {
      throw new MalformedPageError(`A page says IsTruncated "${isTruncated}", which its token contradicts.`);
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
    throw new KeyCountError(`A page says that it has ${keyCount} keys, but holds ${found}.`);
  }
}

/** The text up to the end tag. Without that tag the body was cut. */
function textToEnd(bytes: Buffer): string {
  const text = bytes.toString('latin1').trimEnd();
  if (!text.endsWith(resultClose)) throw new MalformedPageError('A page was cut: its end tag is missing.');
  return text;
}
