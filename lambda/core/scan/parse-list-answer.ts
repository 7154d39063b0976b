import { compareKeys } from '../rules/names.ts';
import {
  type AnswerReader,
  bytesReader,
  errorIn,
  MalformedPageError,
  OtherProtocolError,
  unescapeXml,
} from '../store/http-exchange.ts';
import type { DelimitedPage, ListedPage } from '../store/rules/store.ts';
import { EntryReader, type EntryReaderOptions } from './parse-list-entries.ts';

/** The number of entries is not the page's KeyCount. */
export class KeyCountError extends MalformedPageError {}

const resultClose = '</ListBucketResult>';

/** Four times as many as a thousand of the longest keys take. */
const pageBytesMax = 16 * 1024 ** 2;

/** What a page says besides its entries. */
interface ListFrame {
  readonly isUrlEncoded: boolean;
  /** Undefined: this is the last page. */
  readonly token: string | undefined;
}

/** The text up to the end tag. @throws {MalformedPageError} without that tag: the body was cut off. */
function textToEnd(bytes: Buffer): string {
  checkBeginning(bytes);
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
function readListFrame(around: string, counts: readonly number[]): ListFrame {
  if (around.includes('<Contents')) throw new MalformedPageError('The page contains an incomplete entry.');
  const keyCount = elementText(around, 'KeyCount');
  if (keyCount === undefined)
    throw new OtherProtocolError("The response has no KeyCount: the store doesn't support ListObjectsV2.");
  if (!counts.some((count) => keyCount === String(count)))
    throw new KeyCountError(`The page has KeyCount ${keyCount}, but contains ${counts[0]} keys.`);
  const isTruncated = elementText(around, 'IsTruncated');
  const token = elementText(around, 'NextContinuationToken') || undefined;
  if (isTruncated !== (token === undefined ? 'false' : 'true')) {
    throw new OtherProtocolError(
      `The page has IsTruncated "${isTruncated}", but ${token === undefined ? 'no' : 'a'} continuation token.`,
    );
  }
  return { isUrlEncoded: elementText(around, 'EncodingType') === 'url', token };
}

/** What an XML document may have before its first element, and the prefix of that one's name. */
const beforeRoot = /^\ufeff?(?:\s|<\?.*?\?>|<!--.*?-->)*(?:(<)[\w.-]+:)?/s;

/**
 * What is no list is another protocol, unless it may have been cut off before that shows.
 *
 * @throws {MalformedPageError} for an error document, which S3 sends when it fails after it began to answer.
 */
function checkBeginning(bytes: Buffer): void {
  const root = bytes.toString('utf8', 0, 4096).replace(beforeRoot, '$1');
  const { code } = root.startsWith('<Error') ? errorIn(root) : {};
  if (code !== undefined) throw new MalformedPageError(`The store answered 200 with the error ${code}.`);
  const known = ['<ListBucketResult', '<Error', '<?', '<!--'];
  if (!known.some((open) => root.startsWith(open) || open.startsWith(root)))
    throw new OtherProtocolError("The response isn't a list of S3.");
}

/** What a page encodes is in no suffix, so the key need not be decoded. */
const suffix = /(?<=[^/])\.[\w-]{1,15}$/;
/** With the character before the dot. */
const suffixBytesMax = 17;

/** A page whose keys stay bytes until they are read. */
export class ScannedPage implements ListedPage {
  readonly keyCount: number;
  readonly totalBytes: number;
  readonly isTruncated: boolean;
  readonly nextContinuationToken: string | undefined;
  readonly repeatedKeys: number;
  readonly #entries: EntryReader;
  readonly #isUrlEncoded: boolean;

  constructor(entries: EntryReader, { isUrlEncoded, token }: ListFrame) {
    this.keyCount = entries.count;
    this.totalBytes = entries.totalBytes;
    this.isTruncated = token !== undefined;
    this.nextContinuationToken = token;
    this.repeatedKeys = entries.repeated;
    this.#entries = entries;
    this.#isUrlEncoded = isUrlEncoded;
  }

  /** Few keys have to be decoded. */
  get isInOrder(): boolean {
    const { keyBytes, keyEnds, isAscending, undecided } = this.#entries;
    const comesAfter = (index: number) => compareKeys(this.keyAt(index), this.keyAt(index - 1)) > 0;
    const hasEntities = keyBytes.subarray(0, keyEnds[this.keyCount - 1] ?? 0).includes('&');
    if (!hasEntities) return isAscending && undecided.every(comesAfter);
    for (let index = 1; index < this.keyCount; index += 1) if (!comesAfter(index)) return false;
    return true;
  }

  keyAt(index: number): string {
    return decodeListedKey(this.#rawAt(index), { isUrlEncoded: this.#isUrlEncoded });
  }

  textAt(index: number): string {
    return unescapeXml(this.#rawAt(index));
  }

  #rawAt(index: number): string {
    this.#check(index);
    const { keyBytes, keyEnds } = this.#entries;
    return utf8Text(keyBytes.subarray(index === 0 ? 0 : keyEnds[index - 1], keyEnds[index]));
  }

  sizeAt(index: number): number {
    this.#check(index);
    return this.#entries.sizes[index] ?? 0;
  }

  lastModifiedMsAt(index: number): number | undefined {
    this.#check(index);
    const time = this.#entries.times?.[index];
    return Number.isNaN(time) ? undefined : time;
  }

  etagAt(index: number): string {
    this.#check(index);
    const etag = unescapeXml(this.#entries.etags?.texts[index] ?? '');
    // Some stores list it without its quotes, and compare it with them.
    return /^(?:$|"|W\/)/.test(etag) ? etag : `"${etag}"`;
  }

  suffixAt(index: number): string {
    this.#check(index);
    const { keyBytes, keyEnds } = this.#entries;
    const end = keyEnds[index] ?? 0;
    const start = Math.max(index === 0 ? 0 : (keyEnds[index - 1] ?? 0), end - suffixBytesMax);
    return suffix.exec(keyBytes.toString('latin1', start, end))?.[0].toLowerCase() ?? '';
  }

  storageClassAt(index: number): string {
    this.#check(index);
    return this.#entries.classes?.texts[index] ?? '';
  }

  #check(index: number): void {
    if (index >= 0 && index < this.keyCount) return;
    throw new RangeError(`The page has ${this.keyCount} keys, but none at index ${index}.`);
  }
}

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
  /** What is before the first entry, once that was found. */
  #head: Buffer | undefined;
  /** Unread bytes: of the head, of an entry whose end has not arrived, or of the text after the last entry. */
  #pending: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(options: EntryReaderOptions) {
    this.#entries = new EntryReader(options);
  }

  /** Reads the next piece. @throws {MalformedPageError} */
  write(piece: Buffer): void {
    this.#bytes += piece.length;
    // What was read is kept, so the connection is closed: a page that does not end is not waited for.
    if (this.#bytes > pageBytesMax) {
      checkBeginning(this.#head ?? this.#pending);
      throw new MalformedPageError(`The page has more than ${pageBytesMax} bytes.`);
    }
    const joined = this.#head === undefined ? undefined : this.#readSeam(piece);
    const bytes = joined === undefined ? Buffer.concat([this.#pending, piece]) : piece;
    let start = joined ?? 0;
    if (this.#head === undefined) {
      start = bytes.indexOf(contentsOpen);
      if (start < 0) {
        this.#pending = Buffer.from(bytes);
        return;
      }
      this.#head = Buffer.from(bytes.subarray(0, start));
      checkBeginning(this.#head);
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

  /** The page, after the last piece. @throws {MalformedPageError} when the answer is not complete. */
  end(): ScannedPage {
    const around = textToEnd(Buffer.concat([this.#head ?? Buffer.alloc(0), this.#pending]));
    const { count, repeated } = this.#entries;
    return new ScannedPage(this.#entries, readListFrame(around, [count + repeated]));
  }
}

/**
 * Reads a ListObjectsV2 answer with a delimiter, all of it at its end: such pages are few. It throws a MalformedPageError
 * when the answer is too long, or not complete.
 */
export const folderPageReader = () => bytesReader(pageBytesMax, (bytes) => readFolderPage(textToEnd(bytes)));

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
    throw new MalformedPageError("The page has a size that isn't a number of bytes.");
  return size;
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The text of whole characters. A character that was replaced would make a key or a token name another place of the
 * listing.
 *
 * @throws {MalformedPageError} when the bytes are not UTF-8.
 */
function utf8Text(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  // What is not UTF-8 became U+FFFD. Only then the strict decoder, which is slower, has to look.
  if (!text.includes('\ufffd')) return text;
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw new MalformedPageError("The page contains bytes that aren't UTF-8.", { cause });
  }
}

/**
 * Decodes a key of a page. With `encoding-type=url` a space is `+` or `%20`, and a plus is always `%2B`.
 *
 * @throws {MalformedPageError} when the text is not an encoded key.
 */
export function decodeListedKey(text: string, { isUrlEncoded }: { isUrlEncoded: boolean }): string {
  const key = unescapeXml(text);
  // Nearly all keys have nothing to decode.
  if (!isUrlEncoded || !(key.includes('%') || key.includes('+'))) return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch (cause) {
    throw new MalformedPageError(
      "The page contains a key that isn't URL-encoded, although its EncodingType is url.",
      { cause },
    );
  }
}

/**
 * The text of the only element with this name, still escaped, or undefined if there is none.
 *
 * @throws {MalformedPageError} when there are two, or the end tag is missing.
 */
function escapedText(xml: string, name: string): string | undefined {
  const open = `<${name}>`;
  const start = xml.indexOf(open);
  if (start < 0) return undefined;
  const end = xml.indexOf('<', start + open.length);
  if (end < 0 || !xml.startsWith(`</${name}>`, end) || xml.includes(open, end)) {
    throw new MalformedPageError(`The page contains a malformed <${name}>.`);
  }
  return xml.slice(start + open.length, end);
}

/** The same, unescaped. @throws {MalformedPageError} */
function elementText(xml: string, name: string): string | undefined {
  const text = escapedText(xml, name);
  return text === undefined ? undefined : unescapeXml(text);
}
