import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeServer, listen } from '../../local/system/loopback-server.ts';
import { Random } from '../../test/support/random.ts';

/** Keys that one part of the key space holds on average. A part is made anew for each page that touches it. */
const partKeys = 1000;
const keySpaceSize = 2 ** 52;
const positionDigits = 13;

interface ListedObject {
  /** What follows the prefix: 64 hex digits. */
  readonly name: string;
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
    const found: ListedObject[] = [];
    const position = Number.parseInt(after.slice(0, positionDigits).padEnd(positionDigits, '0'), 16);
    let part = Math.min(this.#parts - 1, Math.floor(position / (keySpaceSize / this.#parts)));
    // One more tells whether there are more.
    for (; part < this.#parts && found.length <= keysMax; part += 1) {
      for (const at of this.#positionsOf(part)) {
        const name = at < position ? '' : nameOf(at);
        if (name > after) found.push({ name, sizeBytes: sizeOf(part) });
      }
    }
    return { objects: found.slice(0, keysMax), isTruncated: found.length > keysMax };
  }

  /** Counts of random keys differ by the root of their mean. */
  #countOf(random: Random): number {
    const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    return this.#mean === 0 ? 0 : Math.max(1, Math.round(this.#mean + Math.sqrt(this.#mean) * normal));
  }

  #positionsOf(part: number): Float64Array {
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

const nameOf = (position: number) =>
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
function pageOf(set: KeySet, query: URLSearchParams): string {
  const token = query.get('continuation-token');
  const after =
    token === null ? (query.get('start-after') ?? '') : Buffer.from(token, 'base64url').toString();
  const keysMax = Math.min(1000, Number(query.get('max-keys') ?? 1000));
  const isByFolder = query.has('delimiter');
  const page = set.page({ after: after.slice(prefix.length), keysMax: isByFolder ? 1 : keysMax });
  const objects = isByFolder ? [] : page.objects;
  const isTruncated = !isByFolder && page.isTruncated;
  const folders = isByFolder && page.objects.length > 0 ? [prefix] : [];
  const last = Buffer.from(prefix + (objects.at(-1)?.name ?? '')).toString('base64url');
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
    `<Name>bench</Name><Prefix>${query.get('prefix') ?? ''}</Prefix>` +
    (isTruncated ? `<NextContinuationToken>${last}</NextContinuationToken>` : '') +
    `<KeyCount>${objects.length + folders.length}</KeyCount><MaxKeys>${keysMax}</MaxKeys>` +
    (query.get('encoding-type') === 'url' ? '<EncodingType>url</EncodingType>' : '') +
    `<IsTruncated>${isTruncated}</IsTruncated>${objects.map(entryOf).join('')}` +
    `${folders.map((folder) => `<CommonPrefixes><Prefix>${folder}</Prefix></CommonPrefixes>`).join('')}</ListBucketResult>`
  );
}

const entryOf = ({ name, sizeBytes }: ListedObject) =>
  `<Contents><Key>${prefix}${name}</Key><LastModified>202${name.charCodeAt(0) % 7}-11-01T10:00:00.000Z</LastModified>` +
  '<ETag>&quot;0123456789abcdef0123456789abcdef&quot;</ETag><ChecksumAlgorithm>SHA256</ChecksumAlgorithm>' +
  `<ChecksumType>FULL_OBJECT</ChecksumType><Size>${sizeBytes}</Size><StorageClass>STANDARD</StorageClass></Contents>`;
