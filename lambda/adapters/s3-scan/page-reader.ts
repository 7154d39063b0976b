import type { AnswerReader } from '../s3/exchange.ts';
import { utf8Text } from '../s3/xml.ts';
import { EntryReader, type EntryReaderOptions } from './entries.ts';
import { checkPageBytes, readListFrame, textToEnd } from './list-frame.ts';
import { ScannedPage } from './page.ts';

const contentsOpen = Buffer.from('<Contents>');
const contentsClose = Buffer.from('</Contents>');

/** Longer than the rest of nearly any entry. */
const seamBytes = 1024;

/**
 * Reads a ListObjectsV2 answer, piece by piece, for what a scan needs: the sizes, the number of keys, and where the
 * listing continues. Keys stay bytes until they are read. Nothing else is kept.
 *
 * The answer must be complete: each entry has exactly one key and one size, and what is around them is as
 * {@link readListFrame} wants it.
 */
export class ListPageReader implements AnswerReader<ScannedPage> {
  readonly #entries: EntryReader;
  /** The text before the first entry, once that was found. */
  #head: string | undefined;
  /** Unread bytes: of the head, of an entry whose end has not arrived, or of the text after the last entry. */
  #pending: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(options: EntryReaderOptions) {
    this.#entries = new EntryReader(options);
  }

  /** The beginning of an answer without entries, most likely an error document. Empty if there are entries. */
  get textWithoutEntries(): string {
    return this.#head === undefined ? this.#pending.toString('utf8', 0, 4096) : '';
  }

  /** Reads the next piece. @throws {MalformedPageError} */
  write(piece: Buffer): void {
    this.#bytes += piece.length;
    checkPageBytes(this.#bytes);
    const joined = this.#head === undefined ? undefined : this.#readSeam(piece);
    const bytes = joined === undefined ? this.#withPending(piece) : piece;
    let start = joined ?? 0;
    if (this.#head === undefined) {
      start = bytes.indexOf(contentsOpen);
      if (start < 0) {
        this.#pending = Buffer.from(bytes);
        return;
      }
      this.#head = utf8Text(bytes.subarray(0, start));
    }
    const lastClose = bytes.lastIndexOf(contentsClose);
    const end = lastClose < start ? start : lastClose + contentsClose.length;
    this.#entries.read(bytes, { start, end });
    // Copied, because the piece is valid only now.
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
    const { count, sizes, times, etags, keyBytes, keyEnds, totalBytes } = this.#entries;
    const frame = readListFrame(around, [count]);
    const entries = { count, sizes, times, etags: etags?.texts, keyBytes, keyEnds, totalBytes };
    return new ScannedPage({ ...entries, ...frame });
  }
}
