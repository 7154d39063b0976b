import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeServer, listen } from '../../local/system/loopback-server.ts';
import { Random } from '../../test/support/random.ts';

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
    let part = Math.min(this.#parts - 1, Math.floor(from / (keySpaceSize / this.#parts)));
    // One more tells whether there are more.
    for (; part < this.#parts && objects.length <= keysMax; part += 1) {
      const sizeBytes = sizeOf(part);
      for (const position of this.#positionsOf(part)) {
        if (objects.length > keysMax) break;
        if (position > from || (position === from && nameOf(position) > after))
          objects.push({ position, sizeBytes });
      }
    }
    const isTruncated = objects.length > keysMax;
    if (isTruncated) objects.pop();
    return { objects, isTruncated };
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
    const made = this.#makePart(part);
    this.#made.set(part, made);
    return made;
  }

  #makePart(part: number): Float64Array {
    const random = randomOf(part);
    const positions = new Float64Array(this.#countOf(random));
    const width = keySpaceSize / this.#parts;
    for (let index = 0; index < positions.length; index += 1)
      positions[index] = Math.floor((part + random.next()) * width);
    // Two at one position would be one key: the later one moves on.
    let before = -1;
    return positions.sort().map((position) => {
      before = Math.max(before + 1, position);
      return before;
    });
  }
}

/** 64 hex digits. */
export const nameOf = (position: number) =>
  position.toString(16).padStart(positionDigits, '0').repeat(5).slice(0, 64);
const randomOf = (part: number) => new Random(Math.imul(part + 1, 0x9e3779b1));
const sizeOf = (part: number) => 1_000_000 + (part % 8000) * 1000;

const prefix = 'acme/app/';

/**
 * A store that can only list. The name of a bucket gives the number of its objects: `n4000` has about 4,000 below
 * `acme/app/`.
 */
export class ListServer {
  /** Time to the first byte of the next page. */
  latencyMs: () => number = () => 0;
  /** LIST requests so far. */
  requests = 0;
  #server: Server | undefined;
  readonly #sets = new Map<number, KeySet>();

  /** @returns the port on the loopback address. */
  listen(): Promise<number> {
    this.#server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      void this.answer(request, response);
    });
    return listen(this.#server, { port: 0, usedBy: 'the list server' });
  }

  async close(): Promise<void> {
    if (this.#server) await closeServer(this.#server, 0);
  }

  /** The objects of a bucket. */
  keySet(count: number): KeySet {
    const set = this.#sets.get(count) ?? new KeySet(count);
    this.#sets.set(count, set);
    return set;
  }

  /** Answers one request. Another server may call it too: one that speaks TLS, or that answers more. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
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
  }
}

/** ListObjectsV2, for all of the prefix. With a delimiter: its one folder. The elements are in AWS's order. */
function pageOf(set: KeySet, query: URLSearchParams): Buffer {
  const token = query.get('continuation-token');
  const after =
    token === null ? (query.get('start-after') ?? '') : Buffer.from(token, 'base64url').toString();
  const keysMax = Math.min(1000, Number(query.get('max-keys') ?? 1000));
  const isByFolder = query.has('delimiter');
  const page = set.page({ after: after.slice(prefix.length), keysMax: isByFolder ? 1 : keysMax });
  const objects = isByFolder ? [] : page.objects;
  const isTruncated = !isByFolder && page.isTruncated;
  const folders = isByFolder && page.objects.length > 0 ? [prefix] : [];
  const last = objects.at(-1);
  const next = Buffer.from(prefix + (last ? nameOf(last.position) : '')).toString('base64url');
  const head =
    '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
    `<Name>bench</Name><Prefix>${query.get('prefix') ?? ''}</Prefix>` +
    (isTruncated ? `<NextContinuationToken>${next}</NextContinuationToken>` : '') +
    `<KeyCount>${objects.length + folders.length}</KeyCount><MaxKeys>${keysMax}</MaxKeys>` +
    (query.get('encoding-type') === 'url' ? '<EncodingType>url</EncodingType>' : '') +
    `<IsTruncated>${isTruncated}</IsTruncated>`;
  const common = folders.map((folder) => `<CommonPrefixes><Prefix>${folder}</Prefix></CommonPrefixes>`);
  const tail = `${common.join('')}</ListBucketResult>`;
  return Buffer.concat([Buffer.from(head), entriesOf(objects), Buffer.from(tail)]);
}

const entryBeforeKey = `<Contents><Key>${prefix}`;
const keyToYear = '</Key><LastModified>202';
const yearToSize =
  '0-11-01T10:00:00.000Z</LastModified>' +
  '<ETag>&quot;0123456789abcdef0123456789abcdef&quot;</ETag><ChecksumAlgorithm>SHA256</ChecksumAlgorithm>' +
  '<ChecksumType>FULL_OBJECT</ChecksumType><Size>';
const sizeDigits = 7;
const template = Buffer.from(
  `${entryBeforeKey}${'0'.repeat(64)}${keyToYear}${yearToSize}${'0'.repeat(sizeDigits)}</Size>` +
    '<StorageClass>STANDARD</StorageClass></Contents>',
);
const hexDigits = Buffer.from('0123456789abcdef');

/** Only what differs is written: as texts, entries would take the server longer than the scan that's measured. */
function entriesOf(objects: readonly ListedObject[]): Buffer {
  const bytes = Buffer.alloc(objects.length * template.length, template);
  let entry = 0;
  for (const { position, sizeBytes } of objects) {
    const key = entry + entryBeforeKey.length;
    writeHex(bytes, key, { word: Math.floor(position / 2 ** 24), digits: 7 });
    writeHex(bytes, key + 7, { word: position % 2 ** 24, digits: 6 });
    for (let at = key + positionDigits; at < key + 64; at += 1)
      bytes[at] = Number(bytes[at - positionDigits]);
    const year = key + 64 + keyToYear.length;
    bytes[year] = 0x30 + (Number(bytes[key]) % 7);
    const size = year + yearToSize.length;
    for (let at = size + sizeDigits - 1, left = sizeBytes; at >= size; at -= 1, left = Math.floor(left / 10))
      bytes[at] = 0x30 + (left % 10);
    entry += template.length;
  }
  return bytes;
}

/** The lowest digits of a word of 32 bits. */
function writeHex(bytes: Buffer, start: number, { word, digits }: { word: number; digits: number }): void {
  for (let at = start + digits - 1, left = word; at >= start; at -= 1, left >>>= 4)
    bytes[at] = Number(hexDigits[left & 15]);
}
