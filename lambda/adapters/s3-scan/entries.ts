import { pageKeysMax } from '../../domain/scan/page-size.ts';
import { isTimeOpen, timeAt, timeOpenLength } from './entry-time.ts';
import { MalformedPageError } from './xml.ts';

const lessThan = 0x3c;
const contentsCloseLength = '</Contents>'.length;
const keyOpenLength = '<Key>'.length;
const sizeOpenLength = '<Size>'.length;

/** Bytes allocated for the keys of a page. The buffer grows if the keys are long. */
const keyBytesInitial = 96 * 1024;

/**
 * Reads the entries of a page, as its bytes arrive, into sizes and the bytes of keys. If keys are hashes, nearly all
 * entries have the same length. So it looks for each part where the previous entry had it, and searches only if it is
 * not there.
 */
export class EntryReader {
  count = 0;
  totalBytes = 0;
  sizes = new Float64Array(pageKeysMax);
  /** LastModified of each entry, in ms; NaN if it cannot be read. undefined: nobody asked for it. */
  times: Float64Array | undefined;
  /** All keys, still encoded as in the page, one after the other. */
  keyBytes: Buffer = Buffer.allocUnsafeSlow(keyBytesInitial);
  /** Where each key ends in {@link EntryReader.keyBytes}. */
  keyEnds = new Uint32Array(pageKeysMax);
  readonly #isPredicting: boolean;
  #keyBytesUsed = 0;
  // Where the previous entry had its parts, counted from its beginning.
  #keyOffset = 0;
  #sizeOffset = 0;
  #timeOffset = 0;
  // Where it had its end tag, counted from the end of its size.
  #closeOffset = 0;

  constructor({ isPredicting, readsTimes = false }: { isPredicting: boolean; readsTimes?: boolean }) {
    this.#isPredicting = isPredicting;
    if (readsTimes) this.times = new Float64Array(pageKeysMax);
  }

  /** Reads complete entries, with only white space between them. @throws {MalformedPageError} */
  read(body: Uint8Array, { start, end }: { start: number; end: number }): void {
    let at = start;
    for (;;) {
      while (at < end && Number(body[at]) <= 0x20) at += 1;
      if (at >= end) return;
      if (!isContentsOpen(body, at))
        throw new MalformedPageError('The page contains something other than entries between its entries.');
      at = this.#readEntry(body, at, end);
    }
  }

  #readEntry(body: Uint8Array, at: number, end: number): number {
    const isWherePredicted =
      this.#isPredicting && isKeyOpen(body, at + this.#keyOffset) && isSizeOpen(body, at + this.#sizeOffset);
    let close = isWherePredicted ? -1 : this.#find(body, at, end);
    const digitsEnd = this.#noteSize(body, at + this.#sizeOffset + sizeOpenLength);
    if (close < 0) {
      const predicted = digitsEnd + this.#closeOffset;
      close = isContentsClose(body, predicted) ? predicted : this.#find(body, at, end);
    }
    this.#closeOffset = close - digitsEnd;
    this.#noteKey(body, at + this.#keyOffset + keyOpenLength, close);
    if (this.times) this.times[this.count] = this.#timeWithin(body, at, close);
    this.count += 1;
    return close + contentsCloseLength;
  }

  /** @returns the end of the digits. */
  #noteSize(body: Uint8Array, digitsStart: number): number {
    let digitsEnd = digitsStart;
    let size = 0;
    for (;;) {
      const digit = Number(body[digitsEnd]) - 0x30;
      if (!(digit >= 0 && digit <= 9)) break;
      size = size * 10 + digit;
      digitsEnd += 1;
    }
    if (digitsEnd === digitsStart || !isSizeClose(body, digitsEnd) || size > Number.MAX_SAFE_INTEGER) {
      throw new MalformedPageError('The page contains a size that is not a number of bytes.');
    }
    if (this.count === this.sizes.length) this.#growEntries();
    this.sizes[this.count] = size;
    this.totalBytes += size;
    return digitsEnd;
  }

  #noteKey(body: Uint8Array, start: number, close: number): void {
    let used = this.#keyBytesUsed;
    if (used + close - start > this.keyBytes.length) this.#growKeyBytes(used + close - start);
    const { keyBytes } = this;
    for (let at = start; at < close; at += 1) {
      const byte = Number(body[at]);
      if (byte === lessThan) break;
      keyBytes[used] = byte;
      used += 1;
    }
    this.#keyBytesUsed = used;
    this.keyEnds[this.count] = used;
  }

  /** LastModified of an entry, in ms. NaN if there is none that can be read. */
  #timeWithin(body: Uint8Array, at: number, close: number): number {
    if (!isTimeOpen(body, at + this.#timeOffset)) {
      let index = at + 1;
      while (index < close && !(body[index] === lessThan && isTimeOpen(body, index))) index += 1;
      this.#timeOffset = index - at;
    }
    const start = at + this.#timeOffset + timeOpenLength;
    // An entry that is shorter than the previous one may end before, and the next one have its time there.
    return start < close ? timeAt(body, start) : Number.NaN;
  }

  /** Finds the parts of an entry, and sets the offsets for the next one. @returns where its end tag begins. */
  #find(body: Uint8Array, at: number, end: number): number {
    let keyAt = -1;
    let sizeAt = -1;
    let isWhole = true;
    for (let index = at + 1; index < end; index += 1) {
      if (body[index] !== lessThan) continue;
      if (isKeyOpen(body, index)) {
        isWhole &&= keyAt < 0;
        keyAt = index;
      } else if (isSizeOpen(body, index)) {
        isWhole &&= sizeAt < 0;
        sizeAt = index;
      } else if (isContentsOpen(body, index)) {
        isWhole = false;
      } else if (isContentsClose(body, index)) {
        if (!isWhole || keyAt < 0 || sizeAt < 0) break;
        this.#keyOffset = keyAt - at;
        this.#sizeOffset = sizeAt - at;
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
  }
}

// Written out byte by byte: a loop over the bytes of a tag takes several times as long.

/** `<Contents>` */
function isContentsOpen(body: Uint8Array, at: number): boolean {
  return (
    body[at] === 0x3c &&
    body[at + 1] === 0x43 &&
    body[at + 2] === 0x6f &&
    body[at + 3] === 0x6e &&
    body[at + 4] === 0x74 &&
    body[at + 5] === 0x65 &&
    body[at + 6] === 0x6e &&
    body[at + 7] === 0x74 &&
    body[at + 8] === 0x73 &&
    body[at + 9] === 0x3e
  );
}

/** `</Contents>` */
function isContentsClose(body: Uint8Array, at: number): boolean {
  return (
    body[at] === 0x3c &&
    body[at + 1] === 0x2f &&
    body[at + 2] === 0x43 &&
    body[at + 3] === 0x6f &&
    body[at + 4] === 0x6e &&
    body[at + 5] === 0x74 &&
    body[at + 6] === 0x65 &&
    body[at + 7] === 0x6e &&
    body[at + 8] === 0x74 &&
    body[at + 9] === 0x73 &&
    body[at + 10] === 0x3e
  );
}

/** `<Key>` */
function isKeyOpen(body: Uint8Array, at: number): boolean {
  return (
    body[at] === 0x3c &&
    body[at + 1] === 0x4b &&
    body[at + 2] === 0x65 &&
    body[at + 3] === 0x79 &&
    body[at + 4] === 0x3e
  );
}

/** `<Size>` */
function isSizeOpen(body: Uint8Array, at: number): boolean {
  return (
    body[at] === 0x3c &&
    body[at + 1] === 0x53 &&
    body[at + 2] === 0x69 &&
    body[at + 3] === 0x7a &&
    body[at + 4] === 0x65 &&
    body[at + 5] === 0x3e
  );
}

/** `</Size>` */
function isSizeClose(body: Uint8Array, at: number): boolean {
  return body[at] === 0x3c && body[at + 1] === 0x2f && isSizeTagName(body, at + 2);
}

/** `Size>` */
function isSizeTagName(body: Uint8Array, at: number): boolean {
  return (
    body[at] === 0x53 &&
    body[at + 1] === 0x69 &&
    body[at + 2] === 0x7a &&
    body[at + 3] === 0x65 &&
    body[at + 4] === 0x3e
  );
}
