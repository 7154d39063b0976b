import { crc32 } from 'node:zlib';
import type { ByteRange } from '../../../core/store/rules/archive-store.ts';
import type { ArchiveFormat, Member } from './archive-formats.ts';
import { memberName, nameLike, ownFolder, type StoredObject } from './objects.ts';

/** How many bytes a range has. */
export function sizeOf(range: ByteRange): number {
  return range.endByte - range.startByte;
}

/** What two ranges share. Empty, or even negative in size, if they do not meet. */
export function overlapOf(a: ByteRange, b: ByteRange): ByteRange {
  return {
    startByte: Math.max(a.startByte, b.startByte),
    endByte: Math.min(a.endByte, b.endByte),
  };
}

/** What each object takes in an archive, in bytes, by its index. The rules of the order work on these alone. */
export interface EntrySizes {
  /** Before its bytes. */
  readonly heads: Float64Array;
  /** Its own. */
  readonly data: Float64Array;
  /** All, with head and padding. */
  readonly totals: Float64Array;
}

export function entrySizesOf(objects: readonly StoredObject[], format: ArchiveFormat): EntrySizes {
  const heads = new Float64Array(objects.length);
  const data = new Float64Array(objects.length);
  const totals = new Float64Array(objects.length);
  for (const [index, object] of objects.entries()) {
    const { sizeBytes } = object;
    const headBytes = format.headBytes({ name: nameLike(object), sizeBytes });
    heads[index] = headBytes;
    data[index] = sizeBytes;
    totals[index] = headBytes + sizeBytes + format.padBytes(sizeBytes);
  }
  return { heads, data, totals };
}

/**
 * The indices that a test accepts, from the smallest value to the largest. Equal values keep their order.
 *
 * @param values whole numbers, none below 0.
 */
export function ascendingBy(values: Float64Array, accepts: (index: number) => boolean): Uint32Array {
  const chosen = new Uint32Array(values.length);
  let count = 0;
  let largest = 0;
  for (let index = 0; index < values.length; index += 1) {
    if (!accepts(index)) continue;
    chosen[count] = index;
    count += 1;
    largest = Math.max(largest, values[index] ?? 0);
  }
  const sorted = chosen.subarray(0, count);
  if ((largest + 1) * values.length > Number.MAX_SAFE_INTEGER)
    return sorted.sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0) || a - b);
  // Value and index as one number: numbers are sorted without a call for each comparison, which a new process has not
  // compiled yet.
  const keys = new Float64Array(count);
  for (let place = 0; place < count; place += 1) {
    const index = sorted[place] ?? 0;
    keys[place] = (values[index] ?? 0) * values.length + index;
  }
  keys.sort();
  for (let place = 0; place < count; place += 1) sorted[place] = (keys[place] ?? 0) % values.length;
  return sorted;
}

/** A file of an archive that no object of the store holds. Its bytes are made when they are read. */
interface LiteralContent extends Member {
  bytes(range: ByteRange): Uint8Array;
  crc32(): number;
}

/** What the manifest says of an export, beside what the planner knows. */
export interface ExportSubject {
  /** What was exported, such as `acme` or `acme/app`. */
  readonly path: string;
  readonly startedAtMs: number;
  /**
   * Objects that are not in the archive, because they were not stored, or gone when they were to be read. `sizeBytes` is
   * null if nobody knows it.
   */
  readonly missing: readonly { readonly oid: string; readonly sizeBytes: number | null }[];
}

/** Which archive of several. */
interface VolumeNumber {
  /** From 1. */
  readonly number: number;
  readonly of: number;
}

/** The first file of an archive: what it has, and what is missing. The oid of an object is its SHA-256. */
export function manifestOf(input: {
  subject: ExportSubject;
  volume: VolumeNumber;
  objects: readonly StoredObject[];
}): LiteralContent {
  const { subject, volume, objects } = input;
  const manifest = {
    path: subject.path,
    startedAt: new Date(subject.startedAtMs).toISOString(),
    volume: volume.number,
    volumes: volume.of,
    objects: objects.length,
    bytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    index: indexName(volume),
    missing: subject.missing.map(({ oid, sizeBytes }) => ({ oid, sizeBytes })),
  };
  const bytes = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
  return {
    name: `${ownFolder}/manifest-${volume.number}.json`,
    sizeBytes: bytes.length,
    bytes: ({ startByte, endByte }) => bytes.subarray(startByte, endByte),
    crc32: () => crc32(bytes),
  };
}

function indexName({ number }: VolumeNumber): string {
  return `${ownFolder}/index-${number}.txt`;
}

/** As many digits as the largest size has. */
const numberDigits = 16;
/** An oid, two numbers, two spaces, a line feed. */
export const indexLineBytes = 64 + 2 * (1 + numberDigits) + 1;

/** Lines of the index that are made and hashed at a time. */
const linesAtOnce = 4096;

/**
 * The second file of an archive: a line for each object with an oid, with its oid, its size and where its bytes begin in the
 * archive. Lines have one length and the order of the oids, so a reader of ranges finds an object in a few steps. Each is
 * made when it is read.
 *
 * @param input.dataStartOf where the bytes of the object with this index begin.
 */
function indexOf(input: {
  volume: VolumeNumber;
  objects: readonly StoredObject[];
  dataStartOf: (objectIndex: number) => number;
}): LiteralContent {
  const { volume, objects, dataStartOf } = input;
  const padded = (value: number) => String(value).padStart(numberDigits);
  const rendered = (first: number, end: number) => {
    let text = '';
    for (const [at, { oid, sizeBytes }] of objects.slice(first, end).entries())
      text += `${oid} ${padded(sizeBytes)} ${padded(dataStartOf(first + at))}\n`;
    return Buffer.from(text, 'latin1');
  };
  let known: number | undefined;
  return {
    name: indexName(volume),
    sizeBytes: objects.length * indexLineBytes,
    bytes({ startByte, endByte }) {
      const first = Math.floor(startByte / indexLineBytes);
      const whole = rendered(first, Math.ceil(endByte / indexLineBytes));
      return whole.subarray(startByte - first * indexLineBytes, endByte - first * indexLineBytes);
    },
    crc32() {
      if (known !== undefined) return known;
      let sum = 0;
      for (let first = 0; first < objects.length; first += linesAtOnce)
        sum = crc32(rendered(first, first + linesAtOnce), sum);
      known = sum;
      return sum;
    },
  };
}

/** The bytes of an object in the archive, and which object it is. */
export interface PlacedData extends ByteRange {
  readonly objectIndex: number;
  readonly object: StoredObject;
}

/** What a layout is made from. The same input gives the same archive, byte for byte. */
export interface LayoutInput {
  readonly format: ArchiveFormat;
  /** Files, then each oid once, in the order of the oids. */
  readonly objects: readonly StoredObject[];
  readonly sizes: EntrySizes;
  readonly subject: ExportSubject;
  readonly volume: VolumeNumber;
}

/** A file of the archive: what describes it, or an object. */
type Entry = Member &
  (
    | { readonly kind: 'content'; readonly content: LiteralContent }
    | { readonly kind: 'object'; readonly object: StoredObject }
  );

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
    // No oid says what bytes a file must have.
    const fileCount = objects.findIndex(({ oid }) => oid !== '');
    const indexed = fileCount < 0 ? [] : objects.slice(fileCount);
    const dataStartOf = (index: number) => this.boundsAt(2 + (places[fileCount + index] ?? 0)).dataStart;
    this.#contents = [manifestOf(input), indexOf({ ...input, objects: indexed, dataStartOf })];
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
