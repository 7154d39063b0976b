import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../test/support/random.ts';

/** Keys that one part of the key space holds on average. */
const partKeys = 1000;
/** Parts that are kept. */
const madeMax = 1024;
const keySpaceSize = 2 ** 52;
const positionDigits = 13;

interface ListedObject {
  /** In the key space: {@link nameOf} makes it what follows the prefix. */
  readonly position: number;
  readonly sizeBytes: number;
}

/**
 * Synthetic objects, 10⁹ of them if you like: each part of the key space is computed when it's read, always the same.
 * Positions are independent and uniform within a part, and the numbers of keys in the parts differ as those of hashes do,
 * so gaps and densities are those of hashes.
 */
export class KeySet {
  /** All objects: about as many as were asked for, because the parts differ. */
  readonly objectCount: number;
  readonly totalBytes: number;
  readonly #parts: number;
  readonly #mean: number;
  /** Positions in the latest parts: the next page mostly begins where this one ends. */
  readonly #made = new Map<number, Float64Array>();

  constructor(count: number) {
    this.#parts = Math.max(1, Math.round(count / partKeys));
    this.#mean = count / this.#parts;
    let [objectCount, totalBytes] = [0, 0];
    for (let part = 0; part < this.#parts; part += 1) {
      const keys = this.#countOf(randomOf(part));
      objectCount += keys;
      totalBytes += keys * sizeOf(part);
    }
    this.objectCount = objectCount;
    this.totalBytes = totalBytes;
  }

  /** Up to `keysMax` objects after a name, in order. @param after hex digits; empty: from the first object on. */
  page({ after, keysMax }: { after: string; keysMax: number }) {
    const objects: ListedObject[] = [];
    const from = Number.parseInt(after.slice(0, positionDigits).padEnd(positionDigits, '0'), 16);
    let part = Math.min(this.#parts - 1, Math.floor((from / keySpaceSize) * this.#parts));
    // One more tells whether there are more.
    for (; part < this.#parts && objects.length <= keysMax; part += 1)
      for (const position of this.#positionsOf(part)) {
        if (objects.length > keysMax) break;
        if (position > from || (position === from && nameOf(position) > after))
          objects.push({ position, sizeBytes: sizeOf(part) });
      }
    return { objects: objects.slice(0, keysMax), isTruncated: objects.length > keysMax };
  }

  /** Counts of random keys differ by the root of their mean. */
  #countOf(random: Random): number {
    const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    return this.#mean === 0 ? 0 : Math.max(1, Math.round(this.#mean + Math.sqrt(this.#mean) * normal));
  }

  #positionsOf(part: number): Float64Array {
    const known = this.#made.get(part);
    if (known) return known;
    if (this.#made.size >= madeMax) this.#made.clear();
    const random = randomOf(part);
    const width = keySpaceSize / this.#parts;
    const positions = new Float64Array(this.#countOf(random));
    // Two at one position would be one key: the later one moves on.
    let before = -1;
    const made = positions
      .map(() => Math.floor((part + random.next()) * width))
      .sort()
      .map((position) => (before = Math.max(before + 1, position)));
    this.#made.set(part, made);
    return made;
  }
}

const nameEnd = '9e3779b97f4a7c15f39cc0605cedc8341082276bf3a27251f86c';
/** 64 hex digits, of which the first ones differ. */
export const nameOf = (position: number) =>
  (position.toString(16).padStart(positionDigits, '0') + nameEnd).slice(0, 64);
const randomOf = (part: number) => new Random(Math.imul(part + 1, 0x9e3779b1));
const sizeOf = (part: number) => 1_000_000 + (part % 8000) * 1000;

const prefix = 'acme/app/';

/** A store that can only list. The name of a bucket gives the number of its objects: `n4000` has about 4,000 below `acme/app/`. */
export class ListServer {
  /** Time to the first byte of the next page. */
  latencyMs: () => number = () => 0;
  /** LIST requests so far. */
  requests = 0;
  readonly #sets = new Map<number, KeySet>();

  /** The objects of a bucket. */
  keySet(count: number): KeySet {
    const set = this.#sets.get(count) ?? new KeySet(count);
    this.#sets.set(count, set);
    return set;
  }

  /** The listener of an HTTP server. */
  readonly answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://list');
    const count = /^\/n(\d+)\/?$/.exec(url.pathname)?.[1];
    if (count === undefined || !url.searchParams.has('list-type')) {
      response.writeHead(404).end();
      return;
    }
    this.requests += 1;
    const latencyMs = this.latencyMs();
    if (latencyMs > 0) await sleep(latencyMs);
    const page = pageOf(this.keySet(Number(count)), url.searchParams);
    response.writeHead(200, { 'content-type': 'application/xml' }).end(page);
  };
}

/** ListObjectsV2, for all of the prefix. The elements are in AWS's order. */
function pageOf(set: KeySet, query: URLSearchParams): Buffer {
  const token = query.get('continuation-token');
  const after =
    token === null ? (query.get('start-after') ?? '') : Buffer.from(token, 'base64url').toString();
  const keysMax = Math.min(1000, Number(query.get('max-keys') ?? 1000));
  const { objects, isTruncated } = set.page({ after: after.slice(prefix.length), keysMax });
  const next = Buffer.from(prefix + nameOf(objects.at(-1)?.position ?? 0)).toString('base64url');
  const head =
    '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
    `<Name>bench</Name><Prefix>${query.get('prefix') ?? ''}</Prefix>` +
    (isTruncated ? `<NextContinuationToken>${next}</NextContinuationToken>` : '') +
    `<KeyCount>${objects.length}</KeyCount><MaxKeys>${keysMax}</MaxKeys>` +
    (query.get('encoding-type') === 'url' ? '<EncodingType>url</EncodingType>' : '') +
    `<IsTruncated>${isTruncated}</IsTruncated>`;
  return Buffer.concat([Buffer.from(head), entriesOf(objects), Buffer.from('</ListBucketResult>')]);
}

const beforeName = `<Contents><Key>${prefix}`;
const beforeYear = '</Key><LastModified>202';
const beforeSize =
  '0-11-01T10:00:00.000Z</LastModified><ETag>&quot;0123456789abcdef0123456789abcdef&quot;</ETag>' +
  '<ChecksumAlgorithm>SHA256</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType><Size>';
const sizeDigits = 7;
const template = Buffer.from(
  `${beforeName}${nameOf(0)}${beforeYear}${beforeSize}${'0'.repeat(sizeDigits)}</Size>` +
    '<StorageClass>STANDARD</StorageClass></Contents>',
);
const digitsOfHex = Buffer.from('0123456789abcdef');

/** Only what differs is written: as texts, entries would take the server longer than the scan that's measured. */
function entriesOf(objects: readonly ListedObject[]): Buffer {
  const bytes = Buffer.alloc(objects.length * template.length, template);
  const write = (value: number, place: { start: number; digits: number; base: number }) => {
    const { start, digits, base } = place;
    for (let at = start + digits - 1, left = value; at >= start; at -= 1, left = Math.floor(left / base))
      bytes[at] = Number(digitsOfHex[left % base]);
  };
  objects.forEach(({ position, sizeBytes }, index) => {
    const start = index * template.length + beforeName.length;
    const yearAt = start + nameOf(0).length + beforeYear.length;
    write(position, { start, digits: positionDigits, base: 16 });
    write(position % 7, { start: yearAt, digits: 1, base: 10 });
    write(sizeBytes, { start: yearAt + beforeSize.length, digits: sizeDigits, base: 10 });
  });
  return bytes;
}
