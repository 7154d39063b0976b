import type { ArchiveFormat } from './archive-format.ts';
import type { ByteRange } from './byte-range.ts';
import type { EntrySizes } from './entry-sizes.ts';
import type { LiteralContent } from './literal-content.ts';
import { type ExportSubject, indexOf, manifestOf, type VolumeNumber } from './manifest.ts';
import { memberName } from './member-name.ts';
import type { StoredObject } from './stored-object.ts';

/** The bytes of an object in the archive, and which object it is. */
export interface PlacedData extends ByteRange {
  readonly objectIndex: number;
  readonly object: StoredObject;
}

/** What a layout is made from. The same input gives the same archive, byte for byte. */
export interface LayoutInput {
  readonly format: ArchiveFormat;
  /** Each oid once, in the order of the oids. */
  readonly objects: readonly StoredObject[];
  readonly sizes: EntrySizes;
  readonly subject: ExportSubject;
  readonly volume: VolumeNumber;
}

/** A file of the archive: what describes it, or an object. */
type Entry =
  | {
      readonly kind: 'content';
      readonly content: LiteralContent;
      readonly name: string;
      readonly sizeBytes: number;
    }
  | {
      readonly kind: 'object';
      readonly object: StoredObject;
      readonly name: string;
      readonly sizeBytes: number;
    };

/**
 * Where everything lies in an archive, without any of its bytes: manifest, index, objects in a given order, directory,
 * end. A million objects take 28 MB.
 */
export class Layout {
  readonly format: ArchiveFormat;
  readonly objects: readonly StoredObject[];
  readonly sizeBytes: number;
  /** Files: manifest, index and objects. */
  readonly entryCount: number;
  readonly directoryStartByte: number;
  readonly directoryEndByte: number;
  readonly #contents: readonly LiteralContent[];
  readonly #order: Uint32Array;
  /** Where each file's head begins; at last, where the directory does. */
  readonly #starts: Float64Array;
  /** Where each file's record of the directory begins; at last, where the end does. */
  readonly #recordStarts: Float64Array;

  /**
   * @param orderFrom the indices of all objects in the order in which they are to lie in the archive, from this byte on.
   */
  constructor(input: LayoutInput, orderFrom: (startByte: number) => Uint32Array) {
    const { format, objects } = input;
    this.format = format;
    this.objects = objects;
    const places = new Uint32Array(objects.length);
    const dataStartOf = (objectIndex: number) => this.boundsAt(2 + (places[objectIndex] ?? 0)).dataStart;
    this.#contents = [manifestOf(input), indexOf({ ...input, dataStartOf })];
    this.entryCount = 2 + objects.length;
    this.#starts = new Float64Array(this.entryCount + 1);
    const startByte = this.#placeContents();
    this.#order = orderFrom(startByte);
    for (let place = 0; place < places.length; place += 1) places[this.#order[place] ?? 0] = place;
    this.directoryStartByte = this.#placeObjects(startByte, input.sizes);
    this.#recordStarts = new Float64Array(format.hasDirectory ? this.entryCount + 1 : 0);
    this.directoryEndByte = format.hasDirectory ? this.#placeRecords() : this.directoryStartByte;
    this.sizeBytes = this.directoryEndByte + format.endBytes(this.#end());
  }

  /** Where manifest and index end, and the first object's head begins. */
  get objectsStartByte(): number {
    return this.#starts[2] ?? Number.NaN;
  }

  /** The file at a place: 0 is the manifest, 1 the index, then come the objects. */
  entryAt(place: number): Entry {
    const content = this.#contents[place];
    if (content) return { kind: 'content', content, name: content.name, sizeBytes: content.sizeBytes };
    const object = this.objects[this.#order[place - 2] ?? -1];
    if (!object) throw new RangeError(`The archive has no file ${place}.`);
    return { kind: 'object', object, name: memberName(object), sizeBytes: object.sizeBytes };
  }

  /** Where a file's head begins, where its bytes begin and end, and where the next file begins. */
  boundsAt(place: number): { headStart: number; dataStart: number; dataEnd: number; nextStart: number } {
    const entry = this.entryAt(place);
    const nextStart = this.#starts[place + 1] ?? Number.NaN;
    const dataEnd = nextStart - this.format.padBytes(entry.sizeBytes);
    return {
      headStart: this.#starts[place] ?? Number.NaN,
      dataStart: dataEnd - entry.sizeBytes,
      dataEnd,
      nextStart,
    };
  }

  /** The place of the file that lies at a byte before the directory. */
  placeOf(byte: number): number {
    return lastAtMost(this.#starts, byte);
  }

  /** Bounds of a file's record of the directory. */
  recordBoundsAt(place: number): ByteRange {
    return {
      startByte: this.#recordStarts[place] ?? Number.NaN,
      endByte: this.#recordStarts[place + 1] ?? Number.NaN,
    };
  }

  /** The place of the file whose record lies at a byte of the directory. */
  recordPlaceOf(byte: number): number {
    return lastAtMost(this.#recordStarts, byte);
  }

  /** The bytes that end the archive. */
  endBytes(): Uint8Array {
    return this.format.end(this.#end());
  }

  /** Which objects have bytes in a range, in the order of the archive, and where. */
  *dataIn(range: ByteRange): Generator<PlacedData> {
    const endByte = Math.min(range.endByte, this.directoryStartByte);
    if (range.startByte >= endByte) return;
    for (let place = Math.max(2, this.placeOf(range.startByte)); place < this.entryCount; place += 1) {
      const nextStart = this.#starts[place + 1] ?? Number.NaN;
      const objectIndex = this.#order[place - 2] ?? -1;
      const object = this.objects[objectIndex];
      if (!object || (this.#starts[place] ?? Number.NaN) >= endByte) return;
      const dataEnd = nextStart - this.format.padBytes(object.sizeBytes);
      const dataStart = dataEnd - object.sizeBytes;
      if (dataStart < endByte && dataEnd > range.startByte && dataStart < dataEnd)
        yield { objectIndex, object, startByte: dataStart, endByte: dataEnd };
    }
  }

  #placeContents(): number {
    let at = 0;
    for (const [place, content] of this.#contents.entries()) {
      this.#starts[place] = at;
      at += this.format.headBytes(content) + content.sizeBytes + this.format.padBytes(content.sizeBytes);
    }
    return at;
  }

  #placeObjects(startByte: number, { totals }: EntrySizes): number {
    let at = startByte;
    for (let place = 0; place < this.#order.length; place += 1) {
      this.#starts[2 + place] = at;
      at += totals[this.#order[place] ?? -1] ?? Number.NaN;
    }
    this.#starts[this.entryCount] = at;
    return at;
  }

  #placeRecords(): number {
    let at = this.directoryStartByte;
    for (let place = 0; place < this.entryCount; place += 1) {
      this.#recordStarts[place] = at;
      const { name, sizeBytes } = this.entryAt(place);
      at += this.format.recordBytes({ name, sizeBytes, startByte: this.#starts[place] ?? Number.NaN });
    }
    this.#recordStarts[this.entryCount] = at;
    return at;
  }

  #end() {
    const { entryCount: members, directoryStartByte, directoryEndByte } = this;
    return { members, directoryStartByte, directoryEndByte };
  }
}

/** The last index whose value is at most `limit`, in ascending values of which the first is. */
function lastAtMost(values: Float64Array, limit: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((values[middle] ?? Number.NaN) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}
