import { MalformedPageError } from '../store/http-exchange.ts';
import { pageKeysMax } from '../store/rules/store.ts';

const dot = 0x2e;
const capitalZ = 0x5a;
const lessThan = 0x3c;
const percent = 0x25;
/** Of what something else may be written as, `%`, `&` and `+`, it is the last. */
const plus = 0x2b;
const escapeLength = '%20'.length;

/** The shortest: `2026-11-01T10:00:00Z<`. */
const lengthMin = 21;
const fractionStart = 19;

/** Days from the first of March to the first of each month. Years that begin in March have the leap day at their end. */
const daysSinceMarch = Uint16Array.of(0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275);
const daysFromYear0To1970 = 719_468;

/**
 * The time that the bytes say in UTC, such as `2026-11-01T10:00:00.000Z`, with any fraction of a second or none. It is
 * read four bytes at a time, without divisions: `Date.parse` takes 20 times as long.
 *
 * @param start its first digit. A tag must follow its `Z`.
 * @returns ms since 1970, rounded down. NaN if it is written in another way.
 */
function timeAt(bytes: DataView, start: number): number {
  if (start + lengthMin > bytes.byteLength) return Number.NaN;
  const dashMonthDash = bytes.getInt32(start + 4);
  const dayTHour = bytes.getInt32(start + 8);
  const hourColonMinute = bytes.getInt32(start + 12);
  const colonSecond = bytes.getInt32(start + 16);
  const isWritten =
    (dashMonthDash & 0xff0000ff) === 0x2d00002d &&
    (dayTHour & 0xff00) === 0x5400 &&
    (hourColonMinute & 0xff0000) === 0x3a0000 &&
    colonSecond >>> 24 === 0x3a;
  const year = fourDigits(bytes.getInt32(start));
  const monthDay = fourDigits(((dashMonthDash & 0xffff00) << 8) | (dayTHour >>> 16));
  const hourMinute = fourDigits(
    (dayTHour << 24) | ((hourColonMinute >>> 24) << 16) | (hourColonMinute & 0xffff),
  );
  const second = fourDigits(0x30300000 | ((colonSecond >>> 8) & 0xffff));
  const ms = fractionAt(bytes, start + fractionStart);
  if (!isWritten || (year | monthDay | hourMinute | second | ms) < 0) return Number.NaN;
  // A hundredth, rounded down, as long as the number is below 10,000.
  const month = (monthDay * 5243) >> 19;
  const day = monthDay - month * 100;
  const hour = (hourMinute * 5243) >> 19;
  const minute = hourMinute - hour * 100;
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= 31;
  if (!isDate || hour > 23 || minute > 59 || second > 60) return Number.NaN;
  return daysSince1970(year, month, day) * 86_400_000 + ((hour * 60 + minute) * 60 + second) * 1000 + ms;
}

const zonedTime = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d:\d\d)?</;

/** The ms in `.123Z<` or `Z<`. Negative if there is anything else. */
function fractionAt(bytes: DataView, start: number): number {
  let at = start;
  let ms = 0;
  if (bytes.getUint8(at) === dot) {
    let unit = 100;
    for (at += 1; at < bytes.byteLength; at += 1) {
      const digit = bytes.getUint8(at) - 0x30;
      if (digit < 0 || digit > 9) break;
      ms += unit * digit;
      unit = unit === 100 ? 10 : unit === 10 ? 1 : 0;
    }
    if (at === start + 1) return -1;
  }
  const isEnd = at + 2 <= bytes.byteLength && bytes.getUint8(at) === capitalZ;
  return isEnd && bytes.getUint8(at + 1) === lessThan ? ms : -1;
}

/** The number in four characters. Negative if one of them is no digit. */
function fourDigits(four: number): number {
  // In each byte the highest bit: not ASCII, above `9`, below `0`.
  const isNumber = ((four | (four + 0x46464646) | (four - 0x30303030)) & 0x80808080) === 0;
  if (!isNumber) return -1;
  return (
    (four >>> 24) * 1000 + ((four >>> 16) & 0xff) * 100 + ((four >>> 8) & 0xff) * 10 + (four & 0xff) - 53_328
  );
}

function daysSince1970(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const century = Math.floor(marchYear / 100);
  const leapDays = (marchYear >> 2) - century + (century >> 2);
  return marchYear * 365 + leapDays + Number(daysSinceMarch[month]) + day - 1 - daysFromYear0To1970;
}

/** Finds an element of each entry. It looks for it where the previous entry had it. */
class TagFinder {
  readonly #length: number;
  /** The tag, four bytes at a time. The last four may overlap. */
  readonly #words: readonly { readonly at: number; readonly word: number }[];
  // Where the previous entry had its tag, counted from its anchor.
  #offset = 0;

  constructor(tag: string) {
    this.#length = tag.length;
    this.#words = Array.from({ length: Math.ceil(tag.length / 4) }, (_, index) => {
      const at = Math.min(index * 4, tag.length - 4);
      return { at, word: word(tag.slice(at)) };
    });
  }

  /**
   * Where the text of the next entry's element begins; `close` if it has none.
   *
   * @param entry.at where it begins. @param entry.close where its end tag begins.
   * @param entry.anchor what the tag most likely has the same distance to in each entry.
   */
  find(bytes: DataView, { at, close, anchor }: { at: number; close: number; anchor: number }): number {
    const last = close - this.#length;
    let tag = anchor + this.#offset;
    if (tag < at || tag > last || !this.#isOpen(bytes, tag)) {
      tag = at + 1;
      while (tag <= last && !this.#isOpen(bytes, tag)) tag += 1;
      if (tag > last) return close;
      this.#offset = tag - anchor;
    }
    return tag + this.#length;
  }

  #isOpen(bytes: DataView, tag: number): boolean {
    for (const { at, word } of this.#words) if (bytes.getInt32(tag + at) !== word) return false;
    return true;
  }
}

/** Reads the text of an element of each entry. */
class TextReader {
  /** One for each entry, escaped as in the page. Empty if it had none. */
  readonly texts: string[] = [];
  readonly #tag: TagFinder;
  /** Texts that come again, with the `<` behind them: they are compared, which is faster than to decode them. */
  readonly #known: { readonly bytes: Buffer; readonly text: string }[] = [];
  readonly #knownMax: number;

  constructor(tag: string, knownMax: number) {
    this.#knownMax = knownMax;
    this.#tag = new TagFinder(tag);
  }

  /** Reads that of the next entry. */
  read(bytes: DataView, entry: { at: number; close: number; anchor: number }): void {
    const start = this.#tag.find(bytes, entry);
    let text = this.#known.find((known) => startsWith(bytes, start, known.bytes))?.text;
    if (text === undefined) {
      let end = start;
      while (bytes.getUint8(end) !== lessThan) end += 1;
      text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
      if (this.#known.length < this.#knownMax)
        this.#known.push({ bytes: Buffer.from(`${text}<`, 'latin1'), text });
    }
    this.texts.push(text);
  }
}

function startsWith(bytes: DataView, start: number, expected: Buffer): boolean {
  for (let index = 0; index < expected.length; index += 1)
    if (bytes.getUint8(start + index) !== expected[index]) return false;
  return true;
}

const contentsOpenLength = '<Contents>'.length;
const contentsCloseLength = '</Contents>'.length;
const keyOpenLength = '<Key>'.length;
const sizeOpenLength = '<Size>'.length;
const sizeCloseLength = '</Size>'.length;

/** Bytes allocated for the keys of a page. The buffer grows if the keys are long. */
const keyBytesInitial = 96 * 1024;

export interface EntryReaderOptions {
  /**
   * Look for the parts of an entry where the previous one had them. If the lengths of entries differ very much, this
   * may skip entries, which ends in a `KeyCountError`.
   */
  readonly isPredicting: boolean;
  /** Read LastModified too. */
  readonly readsTimes?: boolean;
  /** Read ETag too. */
  readonly readsEtags?: boolean;
  /** Read StorageClass too. */
  readonly readsClasses?: boolean;
}

/**
 * Reads the entries of a page, as its bytes arrive, into sizes and the bytes of keys. If keys are hashes, nearly all
 * entries have the same length. So it looks for each part where the previous entry had it, and searches only if it is
 * not there.
 */
export class EntryReader {
  count = 0;
  totalBytes = 0;
  /** Entries that were left out: they have the key of the one before. */
  repeated = 0;
  /** Each key comes after the one before, but for those that only decoding tells. */
  isAscending = true;
  /** The indexes of keys that must be decoded to see whether they come after the one before. */
  readonly undecided: number[] = [];
  sizes = new Float64Array(pageKeysMax);
  /** LastModified of each entry, in ms; NaN if it cannot be read. undefined: nobody asked for it. */
  times: Float64Array | undefined;
  /** undefined: nobody asked for them. */
  readonly etags: TextReader | undefined;
  readonly classes: TextReader | undefined;
  /** All keys, still encoded as in the page, one after the other. */
  keyBytes: Buffer = Buffer.allocUnsafeSlow(keyBytesInitial);
  /** Where each key ends in {@link EntryReader.keyBytes}. */
  keyEnds = new Uint32Array(pageKeysMax);
  readonly #isPredicting: boolean;
  readonly #timeTag = new TagFinder('<LastModified>');
  #keys = viewOf(this.keyBytes);
  #keyBytesUsed = 0;
  // Where the previous entry had its parts, counted from its beginning.
  #keyOffset = 0;
  #sizeOffset = 0;
  // Where its tags of key and size had ended.
  #tagsEnd = keyOpenLength;
  // Where it had its end tag, counted from the end of its size.
  #closeOffset = 0;

  constructor(options: EntryReaderOptions) {
    const { isPredicting, readsTimes, readsEtags, readsClasses } = options;
    this.#isPredicting = isPredicting;
    if (readsTimes) this.times = new Float64Array(pageKeysMax);
    if (readsEtags) this.etags = new TextReader('<ETag>', 0);
    if (readsClasses) this.classes = new TextReader('<StorageClass>', 16);
  }

  /** Reads complete entries, with only white space between them. @throws {MalformedPageError} */
  read(body: Buffer, { start, end }: { start: number; end: number }): void {
    const bytes = new DataView(body.buffer, body.byteOffset + start, end - start);
    const { byteLength } = bytes;
    let at = 0;
    for (;;) {
      while (at < byteLength && bytes.getUint8(at) <= 0x20) at += 1;
      if (at >= byteLength) return;
      if (at + contentsOpenLength > byteLength || !isContentsOpen(bytes, at))
        throw new MalformedPageError('The page contains something other than entries between its entries.');
      at = this.#readEntry(bytes, at);
    }
  }

  #readEntry(bytes: DataView, at: number): number {
    const isWherePredicted =
      this.#isPredicting &&
      at + this.#tagsEnd <= bytes.byteLength &&
      isKeyOpen(bytes, at + this.#keyOffset) &&
      isSizeOpen(bytes, at + this.#sizeOffset);
    let close = isWherePredicted ? -1 : this.#find(bytes, at);
    const digitsEnd = this.#noteSize(bytes, at + this.#sizeOffset + sizeOpenLength);
    if (close < 0) {
      const predicted = digitsEnd + this.#closeOffset;
      const isWithin = predicted + contentsCloseLength <= bytes.byteLength;
      close = isWithin && isContentsClose(bytes, predicted) ? predicted : this.#find(bytes, at);
    }
    this.#closeOffset = close - digitsEnd;
    this.#noteKey(bytes, at + this.#keyOffset + keyOpenLength, close);
    if (this.count > 0 && !this.#isNew()) {
      this.repeated += 1;
      this.totalBytes -= this.sizes[this.count] ?? 0;
      this.#keyBytesUsed = this.keyEnds[this.count - 1] ?? 0;
      return close + contentsCloseLength;
    }
    if (this.times) this.times[this.count] = this.#timeWithin(bytes, at, close);
    this.etags?.read(bytes, { at, close, anchor: at });
    // The length of a size differs. S3 has the class after it.
    this.classes?.read(bytes, { at, close, anchor: digitsEnd });
    this.count += 1;
    return close + contentsCloseLength;
  }

  /** @returns the end of the digits. */
  #noteSize(bytes: DataView, digitsStart: number): number {
    const { byteLength } = bytes;
    let digitsEnd = digitsStart;
    let size = 0;
    for (; digitsEnd < byteLength; digitsEnd += 1) {
      const digit = bytes.getUint8(digitsEnd) - 0x30;
      if (digit < 0 || digit > 9) break;
      size = size * 10 + digit;
    }
    const isClosed = digitsEnd + sizeCloseLength <= byteLength && isSizeClose(bytes, digitsEnd);
    if (digitsEnd === digitsStart || !isClosed || size > Number.MAX_SAFE_INTEGER) {
      throw new MalformedPageError("The page has a size that isn't a number of bytes.");
    }
    if (this.count === this.sizes.length) this.#growEntries();
    this.sizes[this.count] = size;
    this.totalBytes += size;
    return digitsEnd;
  }

  /** @param close where the entry's end tag begins, so that the key has a `<` behind it. */
  #noteKey(bytes: DataView, start: number, close: number): void {
    let used = this.#keyBytesUsed;
    if (used + close - start > this.keyBytes.length) this.#growKeyBytes(used + close - start);
    const keys = this.#keys;
    let at = start;
    if (bytes.getUint8(at) === lessThan) {
      this.#noteQuotedKey(bytes, { start, close });
      return;
    }
    for (;;) {
      const four = bytes.getInt32(at);
      if (hasLessThan(four)) break;
      keys.setInt32(used, four);
      at += 4;
      used += 4;
    }
    for (;;) {
      const byte = bytes.getUint8(at);
      if (byte === lessThan) break;
      keys.setUint8(used, byte);
      at += 1;
      used += 1;
    }
    this.#keyBytesUsed = used;
    this.keyEnds[this.count] = used;
  }

  /** Notes a key within `<![CDATA[` and `]]>`, as it would be without. @throws {MalformedPageError} */
  #noteQuotedKey(bytes: DataView, { start, close }: { start: number; close: number }): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, close - start).toString('latin1');
    const [, quoted] = /^<!\[CDATA\[(.+?)\]\]><\/Key>/s.exec(text) ?? [];
    if (quoted === undefined) throw new MalformedPageError('The page contains an empty key.');
    const key = Buffer.from(quoted.replaceAll('&', '&amp;').replaceAll('<', '&lt;'), 'latin1');
    if (this.#keyBytesUsed + key.length > this.keyBytes.length)
      this.#growKeyBytes(this.#keyBytesUsed + key.length);
    key.copy(this.keyBytes, this.#keyBytesUsed);
    this.#keyBytesUsed += key.length;
    this.keyEnds[this.count] = this.#keyBytesUsed;
  }

  /** Notes the order of the latest key and the one before. @returns false: both are the same. */
  #isNew(): boolean {
    const keys = this.#keys;
    const before = this.count === 1 ? 0 : (this.keyEnds[this.count - 2] ?? 0);
    const start = this.keyEnds[this.count - 1] ?? 0;
    const lengthBefore = start - before;
    const length = this.#keyBytesUsed - start;
    const least = Math.min(lengthBefore, length);
    let at = 0;
    while (at + 4 <= least && keys.getInt32(before + at) === keys.getInt32(start + at)) at += 4;
    while (at < least && keys.getUint8(before + at) === keys.getUint8(start + at)) at += 1;
    if (at === least || at < escapeLength) {
      if (length === lengthBefore && at === least) return false;
      this.undecided.push(this.count);
      return true;
    }
    const [here, there] = [keys.getUint8(start + at), keys.getUint8(before + at)];
    const isEscaped = keys.getUint8(start + at - 1) === percent || keys.getUint8(start + at - 2) === percent;
    if (isEscaped || here <= plus || there <= plus) this.undecided.push(this.count);
    else if (here < there) this.isAscending = false;
    return true;
  }

  /** LastModified of an entry, in ms. NaN if there is none that can be read. */
  #timeWithin(bytes: DataView, at: number, close: number): number {
    const start = this.#timeTag.find(bytes, { at, close, anchor: at });
    const time = timeAt(bytes, start);
    if (!Number.isNaN(time)) return time;
    // Some stores write an offset, or no zone: S3's times are UTC.
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, close - start).toString('latin1');
    const [, local, zone = 'Z'] = zonedTime.exec(text) ?? [];
    return local === undefined ? Number.NaN : Date.parse(local + zone);
  }

  /** Finds the parts of an entry, and sets the offsets for the next one. @returns where its end tag begins. */
  #find(bytes: DataView, at: number): number {
    const last = bytes.byteLength - contentsCloseLength;
    let keyAt = -1;
    let sizeAt = -1;
    let isWhole = true;
    for (let index = at + 1; index <= last; index += 1) {
      if (bytes.getUint8(index) !== lessThan) continue;
      if (isKeyOpen(bytes, index)) {
        isWhole &&= keyAt < 0;
        keyAt = index;
      } else if (isSizeOpen(bytes, index)) {
        isWhole &&= sizeAt < 0;
        sizeAt = index;
      } else if (isContentsOpen(bytes, index)) {
        isWhole = false;
      } else if (isContentsClose(bytes, index)) {
        if (!isWhole || keyAt < 0 || sizeAt < 0) break;
        this.#keyOffset = keyAt - at;
        this.#sizeOffset = sizeAt - at;
        this.#tagsEnd = Math.max(this.#keyOffset + keyOpenLength, this.#sizeOffset + sizeOpenLength);
        return index;
      }
    }
    throw new MalformedPageError(
      'The page contains an entry without an end tag, or without exactly one key and one size.',
    );
  }

  #growEntries(): void {
    const sizes = new Float64Array(this.sizes.length * 2);
    sizes.set(this.sizes);
    this.sizes = sizes;
    if (this.times) {
      const times = new Float64Array(sizes.length);
      times.set(this.times);
      this.times = times;
    }
    const keyEnds = new Uint32Array(this.keyEnds.length * 2);
    keyEnds.set(this.keyEnds);
    this.keyEnds = keyEnds;
  }

  #growKeyBytes(needed: number): void {
    const keyBytes = Buffer.allocUnsafeSlow(Math.max(needed, this.keyBytes.length * 2));
    this.keyBytes.copy(keyBytes, 0, 0, this.#keyBytesUsed);
    this.keyBytes = keyBytes;
    this.#keys = viewOf(keyBytes);
  }
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// The tags, compared four bytes at a time: a loop over their bytes takes several times as long. All of a tag must lie
// within the bytes. They are in this file because calls into another one are not inlined where nothing is bundled.

/** Four characters, as `getInt32` reads them. */
function word(text: string): number {
  return Buffer.from(text, 'latin1').readInt32BE();
}

const lessCon = word('<Con');
const tent = word('tent');
const nts = word('nts>');
const lessSlashCo = word('</Co');
const nten = word('nten');
const lessKey = word('<Key');
const key = word('Key>');
const lessSiz = word('<Siz');
const ize = word('ize>');
const lessSlashSi = word('</Si');

function isContentsOpen(bytes: DataView, at: number): boolean {
  return bytes.getInt32(at) === lessCon && bytes.getInt32(at + 4) === tent && bytes.getInt32(at + 6) === nts;
}

function isContentsClose(bytes: DataView, at: number): boolean {
  return (
    bytes.getInt32(at) === lessSlashCo && bytes.getInt32(at + 4) === nten && bytes.getInt32(at + 7) === nts
  );
}

function isKeyOpen(bytes: DataView, at: number): boolean {
  return bytes.getInt32(at) === lessKey && bytes.getInt32(at + 1) === key;
}

function isSizeOpen(bytes: DataView, at: number): boolean {
  return bytes.getInt32(at) === lessSiz && bytes.getInt32(at + 2) === ize;
}

function isSizeClose(bytes: DataView, at: number): boolean {
  return bytes.getInt32(at) === lessSlashSi && bytes.getInt32(at + 3) === ize;
}

/** True if one of the four bytes is `<`. */
function hasLessThan(fourBytes: number): boolean {
  // `<` becomes 0. Only a 0, or what is right above one, borrows from its highest bit without having had it.
  const bytes = fourBytes ^ 0x3c3c3c3c;
  return ((bytes - 0x01010101) & ~bytes & 0x80808080) !== 0;
}
