const lessThan = 0x3c;
const tagOpen = Buffer.from('<ETag>', 'latin1');
const tagOpenLength = tagOpen.length;
const tagOpenHead = tagOpen.readInt32BE();
const tagOpenTail = tagOpen.readInt32BE(2);

/** Reads the ETags of entries. It looks for each where the previous entry had it, as most have the same length. */
export class EtagReader {
  /** One for each entry, escaped as in the page. Empty if it had none. */
  readonly texts: string[] = [];
  // Where the previous entry had its tag, counted from its beginning.
  #offset = 0;

  /**
   * Reads that of the next entry.
   *
   * @param at where the entry begins.
   * @param close where its end tag begins.
   */
  read(bytes: DataView, at: number, close: number): void {
    const start = this.#find(bytes, at, close);
    let end = start;
    while (bytes.getUint8(end) !== lessThan) end += 1;
    this.texts.push(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1'));
  }

  /** Where the text begins; `close` if there is none. */
  #find(bytes: DataView, at: number, close: number): number {
    const last = close - tagOpenLength;
    let tag = at + this.#offset;
    if (tag > last || !isEtagOpen(bytes, tag)) {
      tag = at + 1;
      while (tag <= last && !isEtagOpen(bytes, tag)) tag += 1;
      if (tag > last) return close;
      this.#offset = tag - at;
    }
    return tag + tagOpenLength;
  }
}

/** `<ETag>` */
function isEtagOpen(bytes: DataView, at: number): boolean {
  return bytes.getInt32(at) === tagOpenHead && bytes.getInt32(at + 2) === tagOpenTail;
}
