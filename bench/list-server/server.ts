import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeServer, listenOnLoopback } from '../../local/system/loopback-server.ts';
import { Random } from '../../test/support/random.ts';

/** Keys that one part of the key space holds on average. A part is made anew for each page that touches it. */
const partKeys = 1000;
const keySpaceSize = 2 ** 52;
const digitsOfPosition = 13;

const tailOpen =
  '</Key><LastModified>2026-11-01T10:00:00.000Z</LastModified><ETag>&quot;0123456789abcdef0123456789abcdef&quot;' +
  '</ETag><ChecksumAlgorithm>SHA256</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType><Size>';
const tailClose = '</Size><StorageClass>STANDARD</StorageClass></Contents>';
const sizeDigits = 7;
const hexDigits = Buffer.from('0123456789abcdef');

/** A page as bytes. */
interface KeyPage {
  readonly entries: Buffer;
  readonly keyCount: number;
  readonly isTruncated: boolean;
  readonly lastKey: string | undefined;
}

/** Names below the prefix, and sizes. */
export function objectsIn(page: KeyPage, prefix: string): { name: string; sizeBytes: number }[] {
  const entries = page.entries.toString('latin1').matchAll(/<Key>([^<]*)<\/Key>.*?<Size>(\d+)<\/Size>/g);
  return [...entries].map(([, key = '', size]) => ({
    name: key.slice(prefix.length),
    sizeBytes: Number(size),
  }));
}

/**
 * Synthetic objects below one prefix, 10⁹ of them if you like: only how many there are in each part of the key space is
 * kept. Names are 64 hex digits. Their positions are independent and uniform within a part, and the numbers of keys in the
 * parts differ as those of hashes do, so gaps and densities are those of hashes.
 */
export class KeySet {
  readonly prefix: string;
  readonly count: number;
  readonly totalBytes: number;
  readonly #seed: number;
  readonly #parts: number;
  /** Number of keys before each part, and of all. */
  readonly #before: Float64Array;
  readonly #template: Buffer;

  /** @param input.seed the same seed gives the same objects. */
  constructor({ prefix, count, seed }: { prefix: string; count: number; seed: number }) {
    this.prefix = prefix;
    this.count = count;
    this.#seed = seed;
    this.#parts = Math.max(1, Math.round(count / partKeys));
    this.#before = this.#countParts();
    this.#template = Buffer.from(
      `<Contents><Key>${prefix}${'0'.repeat(64)}${tailOpen}${'0'.repeat(sizeDigits)}${tailClose}`,
      'latin1',
    );
    let totalBytes = 0;
    for (let part = 0; part < this.#parts; part += 1) totalBytes += this.#bytesOf(part);
    this.totalBytes = totalBytes;
  }

  /** The keys after a name, in order. @param after hex digits; empty: from the first key on. */
  page({ after, keysMax }: { after: string; keysMax: number }): KeyPage {
    const first = this.#indexAfter(after);
    const last = Math.min(this.count, first + keysMax);
    const keyCount = last - first;
    const entries = this.#newBuffer(keyCount);
    let lastKey: string | undefined;
    let index = first;
    for (let part = this.#partOf(first); index < last; part += 1) {
      const from = this.#keysBefore(part);
      const positions = this.#positionsOf(part);
      const end = Math.min(last, from + positions.length);
      for (; index < end; index += 1) {
        const at = (index - first) * this.#template.length;
        this.#render(entries, at, { part, number: index - from, position: positions[index - from] ?? 0 });
        if (index === last - 1) lastKey = this.#keyIn(entries, at);
      }
    }
    return {
      entries,
      keyCount,
      isTruncated: last < this.count,
      lastKey,
    };
  }

  #newBuffer(keyCount: number): Buffer {
    const { length } = this.#template;
    const buffer = Buffer.allocUnsafe(length * keyCount);
    for (let at = 0; at < buffer.length; at += length) this.#template.copy(buffer, at);
    return buffer;
  }

  #keyIn(entries: Buffer, at: number): string {
    const start = at + '<Contents><Key>'.length;
    return entries.toString('latin1', start, start + this.prefix.length + 64);
  }

  /** Counts that differ as those of random keys: by the root of their mean. */
  #countParts(): Float64Array {
    const random = new Random(this.#seed);
    const before = new Float64Array(this.#parts + 1);
    const mean = this.count / this.#parts;
    for (let part = 0; part < this.#parts; part += 1) {
      const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
      const normal = radius * Math.cos(2 * Math.PI * random.next());
      before[part + 1] = Number(before[part]) + Math.max(0, mean + Math.sqrt(mean) * normal);
    }
    const scale = this.count / Math.max(1, Number(before[this.#parts]));
    return before.map((sum, part) => (part === this.#parts ? this.count : Math.round(sum * scale)));
  }

  #keysBefore(part: number): number {
    return this.#before[part] ?? this.count;
  }

  /** Increasing: sums of random gaps, scaled to the part, are random positions in order. */
  #positionsOf(part: number): Float64Array {
    const random = new Random(this.#seed ^ Math.imul(part + 1, 0x9e3779b1));
    const positions = new Float64Array(this.#keysBefore(part + 1) - this.#keysBefore(part));
    let sum = 0;
    for (let number = 0; number < positions.length; number += 1) {
      sum -= Math.log(1 - random.next());
      positions[number] = sum;
    }
    sum -= Math.log(1 - random.next());
    const width = keySpaceSize / this.#parts;
    let previous = Math.ceil(part * width) - 1;
    for (let number = 0; number < positions.length; number += 1) {
      previous = Math.max(previous + 1, Math.floor((part + Number(positions[number]) / sum) * width));
      positions[number] = previous;
    }
    return positions;
  }

  #bytesOf(part: number): number {
    const keys = this.#keysBefore(part + 1) - this.#keysBefore(part);
    const rest = keys % 1000;
    return keys * sizeOf(part, 0) + Math.floor(keys / 1000) * 499_500 + (rest * (rest - 1)) / 2;
  }

  #partOf(index: number): number {
    let low = 0;
    let high = this.#parts;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#keysBefore(middle + 1) > index) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The index of the first key after a name. */
  #indexAfter(after: string): number {
    if (after === '') return 0;
    if (!/^[0-9a-f]+$/.test(after)) throw new RangeError(`"${after}" is no place between hex names.`);
    const position = Number.parseInt(after.slice(0, digitsOfPosition).padEnd(digitsOfPosition, '0'), 16);
    const part = Math.min(this.#parts - 1, Math.floor(position / (keySpaceSize / this.#parts)));
    const positions = this.#positionsOf(part);
    let number = 0;
    while (number < positions.length && Number(positions[number]) < position) number += 1;
    // At most one key has the position itself.
    if (positions[number] === position) {
      const name = Buffer.alloc(this.#template.length);
      this.#render(name, 0, { part, number, position });
      if (this.#keyIn(name, 0).slice(this.prefix.length) <= after) number += 1;
    }
    return this.#keysBefore(part) + number;
  }

  /** Writes name and size into an entry that has all the rest. */
  #render(page: Buffer, start: number, key: { part: number; number: number; position: number }): void {
    const { part, number, position } = key;
    let at = start + '<Contents><Key>'.length + this.prefix.length;
    at = writeHex(page, at, { word: Math.floor(position / 2 ** 20), digits: 8 });
    at = writeHex(page, at, { word: (position % 2 ** 20) * 2 ** 12, digits: 5 });
    let word = Math.imul(part ^ this.#seed, 0x85ebca6b) ^ Math.imul(number + 1, 0xc2b2ae35);
    for (let left = 64 - digitsOfPosition; left > 0; left -= 8) {
      word = Math.imul(word ^ (word >>> 15), 0x2c1b3c6d) + left;
      word ^= word >>> 13;
      at = writeHex(page, at, { word, digits: Math.min(8, left) });
    }
    let size = sizeOf(part, number);
    for (let digit = at + tailOpen.length + sizeDigits - 1; digit >= at + tailOpen.length; digit -= 1) {
      page[digit] = 0x30 + (size % 10);
      size = Math.floor(size / 10);
    }
  }
}

/** Seven digits, so that all entries have the same length. */
function sizeOf(part: number, number: number): number {
  return 1_000_000 + ((part * 7919) % 8000) * 1000 + (number % 1000);
}

/** The highest digits of a word of 32 bits. @returns where they end. */
function writeHex(page: Buffer, start: number, { word, digits }: { word: number; digits: number }): number {
  for (let index = 0; index < digits; index += 1)
    page[start + index] = Number(hexDigits[(word >>> (28 - 4 * index)) & 15]);
  return start + digits;
}

const prefix = 'acme/app/';

/**
 * A store that can only list. The name of a bucket gives the number of its objects: `n4000` has 4,000 below `acme/app/`,
 * always the same. They are computed for each page, so there can be 10⁹ of them.
 */
export class ListServer {
  /** Time to the first byte of each page. */
  latencyMs = 0;
  /** LIST requests so far. */
  requests = 0;
  #server: Server | undefined;
  readonly #sets = new Map<number, KeySet>();

  /** @returns the port on the loopback address. */
  listen(): Promise<number> {
    this.#server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      void this.answer(request, response);
    });
    return listenOnLoopback(this.#server, { port: 0, usedBy: 'the list server' });
  }

  async close(): Promise<void> {
    if (this.#server) await closeServer(this.#server, 0);
  }

  /** The objects of a bucket. */
  keySet(count: number): KeySet {
    const set = this.#sets.get(count) ?? new KeySet({ prefix, count, seed: (count + 7) % 65_521 });
    this.#sets.set(count, set);
    return set;
  }

  /** Answers one request. Another server may call it too: one that speaks TLS, or that answers more. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://list');
    const [, bucket = '', key = ''] = url.pathname.split('/');
    const count = /^n(\d+)$/.exec(bucket)?.[1];
    if (count === undefined || request.method === 'HEAD' || !url.searchParams.has('list-type')) {
      // Buckets exist, but single objects can't be read.
      response.writeHead(count === undefined || key !== '' ? 404 : 200).end();
      return;
    }
    this.requests += 1;
    if (this.latencyMs > 0) await sleep(this.latencyMs);
    const page = pageOf(this.keySet(Number(count)), url.searchParams);
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.socket?.cork();
    response.write(page.head);
    if (page.entries.length > 0) response.write(page.entries);
    response.end('</ListBucketResult>');
    response.socket?.uncork();
  }
}

/** ListObjectsV2 without a delimiter, for all of the set's prefix. The elements are in AWS's order. */
function pageOf(set: KeySet, query: URLSearchParams) {
  const token = query.get('continuation-token');
  const after =
    token === null ? (query.get('start-after') ?? '') : Buffer.from(token, 'base64url').toString();
  const keysMax = Math.min(1000, Number(query.get('max-keys') ?? 1000));
  const page = set.page({ after: after.slice(set.prefix.length), keysMax });
  const next = page.isTruncated ? Buffer.from(page.lastKey ?? '').toString('base64url') : undefined;
  const head =
    '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
    `<Name>n${set.count}</Name><Prefix>${query.get('prefix') ?? ''}</Prefix>` +
    (next === undefined ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`) +
    `<KeyCount>${page.keyCount}</KeyCount><MaxKeys>${keysMax}</MaxKeys>` +
    (query.get('encoding-type') === 'url' ? '<EncodingType>url</EncodingType>' : '') +
    `<IsTruncated>${next !== undefined}</IsTruncated>`;
  return { head, entries: page.entries };
}
