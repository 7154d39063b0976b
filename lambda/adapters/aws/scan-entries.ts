import { MalformedPageError } from './scan-xml.ts';

/** S3's cap. A store that puts more on a page makes the arrays grow. */
const keyCountUsual = 1000;

const lessThan = 0x3c;
const contentsCloseLength = '</Contents>'.length;
const keyOpenLength = '<Key>'.length;
const sizeOpenLength = '<Size>'.length;

/**
 * Walks over the entries of a page. Those of hashes are nearly all of one length, so each part is looked for
 * where it stood in the entry before, and searched for only where it is not there.
 */
export class EntryReader {
  count = 0;
  totalBytes = 0;
  #keyStarts = new Uint32Array(keyCountUsual);
  #sizes = new Float64Array(keyCountUsual);
  readonly #body: Uint8Array;
  readonly #end: number;
  readonly #isPredicting: boolean;
  // Where the parts of the entry before stood, counted from its beginning, …
  #keyOffset = 0;
  #sizeOffset = 0;
  // … and its end tag from the end of its size.
  #closeOffset = 0;

  /** @param options.end where the entries end at the latest. */
  constructor(body: Uint8Array, options: { end: number; isPredicting: boolean }) {
    this.#body = body;
    this.#end = options.end;
    this.#isPredicting = options.isPredicting;
  }

  /** Where the text of each key begins. */
  get keyStarts(): Uint32Array {
    return this.#keyStarts.subarray(0, this.count);
  }

  get sizes(): Float64Array {
    return this.#sizes.subarray(0, this.count);
  }

  /** @returns where the last entry ends. @throws {MalformedPageError} */
  readAll(first: number): number {
    const body = this.#body;
    const end = this.#end;
    let at = first;
    for (;;) {
      while (at < end && Number(body[at]) <= 0x20) at += 1;
      if (!isContentsOpen(body, at)) return at;
      at = this.#readEntry(at);
    }
  }

  #readEntry(at: number): number {
    const body = this.#body;
    const isWherePredicted =
      this.#isPredicting && isKeyOpen(body, at + this.#keyOffset) && isSizeOpen(body, at + this.#sizeOffset);
    let close = isWherePredicted ? -1 : this.#find(at);
    const digitsEnd = this.#note(at);
    if (close < 0) {
      const predicted = digitsEnd + this.#closeOffset;
      close = isContentsClose(body, predicted) ? predicted : this.#find(at);
    }
    this.#closeOffset = close - digitsEnd;
    return close + contentsCloseLength;
  }

  /** Notes key and size of the entry, of which the offsets are known. @returns the end of the size's digits. */
  #note(at: number): number {
    const body = this.#body;
    const digitsStart = at + this.#sizeOffset + sizeOpenLength;
    let digitsEnd = digitsStart;
    let size = 0;
    for (;;) {
      const digit = Number(body[digitsEnd]) - 0x30;
      if (!(digit >= 0 && digit <= 9)) break;
      size = size * 10 + digit;
      digitsEnd += 1;
    }
    if (digitsEnd === digitsStart || !isSizeClose(body, digitsEnd) || size > Number.MAX_SAFE_INTEGER) {
      throw new MalformedPageError('A page holds a size that is no number of bytes.');
    }
    if (this.count === this.#sizes.length) this.#grow();
    this.#keyStarts[this.count] = at + this.#keyOffset + keyOpenLength;
    this.#sizes[this.count] = size;
    this.count += 1;
    this.totalBytes += size;
    return digitsEnd;
  }

  /** Finds the parts of an entry, and sets the offsets by them. @returns where its end tag begins. */
  #find(at: number): number {
    const body = this.#body;
    const end = this.#end;
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
      'A page holds an entry that has no end, or not exactly one key and one size.',
    );
  }

  #grow(): void {
    const keyStarts = new Uint32Array(this.#keyStarts.length * 2);
    keyStarts.set(this.#keyStarts);
    this.#keyStarts = keyStarts;
    const sizes = new Float64Array(this.#sizes.length * 2);
    sizes.set(this.#sizes);
    this.#sizes = sizes;
  }
}

// Spelled out byte by byte: a loop over the tag's bytes takes several times as long.

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
