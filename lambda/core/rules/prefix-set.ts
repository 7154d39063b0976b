/**
 * Sets of objects, each by the first bytes of its oid. Two objects may share them, one of 10 million with a probability of
 * one in a million. Whoever asks whether an object is needed then hears that it is.
 */

/** Bytes of an oid that are kept. */
export const prefixBytes = 8;

/** Objects that one set holds, at most: 40 MB. */
export const prefixesMax = 5_000_000;

/** What oids begin with, as bytes one after the other, in ascending order. */
export function prefixesOf(oids: Iterable<string>): Buffer {
  const heads = [...oids].map((oid) => oid.slice(0, 2 * prefixBytes)).sort();
  return Buffer.from(heads.join(''), 'hex');
}

/** {@link prefixesOf} as text. */
export function prefixText(oids: Iterable<string>): string {
  return prefixesOf(oids).toString('base64');
}

/** Too many objects for one set. */
export class TooManyPrefixesError extends Error {
  override readonly name = 'TooManyPrefixesError';
}

/** The objects of one or more lists of prefixes. */
export class PrefixSet {
  /** Of the machine's byte order, sorted by it: only equality matters. */
  #heads = new BigUint64Array(0);
  #added: Uint8Array[] = [];
  #count = 0;

  /** @param bytes as {@link prefixesOf} makes them, in any order. @throws {TooManyPrefixesError} */
  add(bytes: Uint8Array): void {
    this.#count += Math.floor(bytes.length / prefixBytes);
    if (this.#count > prefixesMax)
      throw new TooManyPrefixesError(`There are more than ${prefixesMax} names.`);
    this.#added.push(bytes);
  }

  /** @param text as {@link prefixText} makes it. @throws {TooManyPrefixesError} */
  addText(text: string): void {
    this.add(Buffer.from(text, 'base64'));
  }

  /** How many were added, some of them perhaps several times. */
  get size(): number {
    return this.#count;
  }

  has(oid: string): boolean {
    this.#sort();
    const head = headOf(oid);
    let low = 0;
    let high = this.#heads.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#heads[middle] ?? 0n) < head) low = middle + 1;
      else high = middle;
    }
    return this.#heads[low] === head;
  }

  #sort(): void {
    if (this.#added.length === 0) return;
    const heads = new BigUint64Array(this.#count);
    heads.set(this.#heads);
    const bytes = new Uint8Array(heads.buffer);
    let at = this.#heads.byteLength;
    for (const added of this.#added) {
      const whole = added.subarray(0, added.length - (added.length % prefixBytes));
      bytes.set(whole, at);
      at += whole.length;
    }
    this.#added = [];
    this.#heads = heads.sort();
  }
}

/** Of the machine's byte order, as a BigUint64Array reads it. */
function headOf(oid: string): bigint {
  const head = new BigUint64Array(1);
  new Uint8Array(head.buffer).set(Buffer.from(oid.slice(0, 2 * prefixBytes), 'hex'));
  return head[0] ?? 0n;
}
