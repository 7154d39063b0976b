import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Random } from '../../test/support/random.ts';
import { firstAfter, type KeySet, keyAt, makeKeySet, VastKeySet } from './keys.ts';

export interface Behaviour {
  /** Median time to the first byte. */
  readonly latencyMs: number;
  /** The standard deviation of the latency's logarithm. 0: every answer takes the median. */
  readonly latencySigma: number;
  readonly seed: number;
}

const goodBehaviour: Behaviour = { latencyMs: 0, latencySigma: 0, seed: 1 };

/** The objects of the bucket `n{count}`: always the same. */
export function keySetOf(count: number): KeySet {
  return makeKeySet({ prefix: 'acme/app/', count, seed: count + 7 });
}

/**
 * A store that can only list, and does so fast: entries are rendered once, and a page is a slice of them. The name of a
 * bucket says how many objects it holds: `n4000` holds 4,000 below `acme/app/`. Those of `v4000` are computed for each
 * page, so there may be 10⁹ of them.
 */
export class ListServer {
  #behaviour: Behaviour = goodBehaviour;
  #random = new Random(1);
  #server: Server | undefined;
  readonly #sets = new Map<number, KeySet>();
  readonly #vastSets = new Map<number, VastKeySet>();
  requests = 0;

  /** @returns the port on the loopback address. */
  async listen(): Promise<number> {
    const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      void this.answer(request, response);
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  behave(behaviour: Partial<Behaviour>): void {
    this.#behaviour = { ...goodBehaviour, ...behaviour };
    this.#random = new Random(this.#behaviour.seed);
    this.requests = 0;
  }

  /** The objects of a bucket. They are made at the first request. */
  keySet(count: number): KeySet {
    const set = this.#sets.get(count) ?? keySetOf(count);
    this.#sets.set(count, set);
    return set;
  }

  /** The objects of a bucket that are computed. */
  vastKeys(count: number): VastKeySet {
    const set =
      this.#vastSets.get(count) ?? new VastKeySet({ prefix: 'acme/app/', count, seed: count % 65_521 });
    this.#vastSets.set(count, set);
    return set;
  }

  /** Answers one request. Another server may call it too: one that speaks TLS, or that answers more. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://list');
    const [, bucket = '', key = ''] = url.pathname.split('/');
    const [, kind, count] = /^([nv])(\d+)$/.exec(bucket) ?? [];
    if (count === undefined || request.method === 'HEAD' || !url.searchParams.has('list-type')) {
      // Buckets exist, but single objects cannot be read.
      response.writeHead(count === undefined || key !== '' ? 404 : 200).end();
      return;
    }
    this.requests += 1;
    const { latencyMs, latencySigma } = this.#behaviour;
    const waitMs = latencyMs * Math.exp(latencySigma * this.#normal());
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const page =
      kind === 'v'
        ? vastPageOf(this.vastKeys(Number(count)), url.searchParams)
        : pageOf(this.keySet(Number(count)), url.searchParams);
    if (page.release) response.once('finish', page.release);
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.socket?.cork();
    response.write(page.head);
    if (page.entries.length > 0) response.write(page.entries);
    response.end('</ListBucketResult>');
    response.socket?.uncork();
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#random.next())) * Math.cos(2 * Math.PI * this.#random.next());
  }
}

interface Page {
  readonly head: string;
  readonly entries: Buffer;
  /** To be called when the page was sent. */
  readonly release?: () => void;
}

/** ListObjectsV2 without a delimiter. The elements are in AWS's order. */
function pageOf(set: KeySet, query: URLSearchParams): Page {
  const prefix = query.get('prefix') ?? '';
  const token = query.get('continuation-token');
  const after = token === null ? query.get('start-after') : Buffer.from(token, 'base64url').toString();
  const first = Math.max(
    firstAfter(set, prefix, { orEqual: true }),
    after ? firstAfter(set, after, { orEqual: false }) : 0,
  );
  const end = prefix === '' ? set.count : firstAfter(set, `${prefix}\uffff`, { orEqual: true });
  const keysMax = Math.min(1000, Number(query.get('max-keys') ?? 1000));
  const last = Math.max(first, Math.min(end, first + keysMax));
  const isTruncated = last < end;
  const lastKey = isTruncated ? keyAt(set, last - 1) : undefined;
  const head = headOf(query, { count: set.count, keyCount: last - first, keysMax, lastKey });
  return { head, entries: set.entries.subarray(set.starts[first] ?? 0, set.starts[last] ?? 0) };
}

/** The same of a set that is computed. Requests are for all of its prefix, and begin between names. */
function vastPageOf(set: VastKeySet, query: URLSearchParams): Page {
  const token = query.get('continuation-token');
  const after =
    token === null ? (query.get('start-after') ?? '') : Buffer.from(token, 'base64url').toString();
  const keysMax = Math.min(1000, Number(query.get('max-keys') ?? 1000));
  const page = set.page({ after: after.slice(set.prefix.length), keysMax });
  const { entries, keyCount, isTruncated, lastKey, release } = page;
  const head = headOf(query, {
    count: set.count,
    keyCount,
    keysMax,
    lastKey: isTruncated ? lastKey : undefined,
  });
  return { head, entries, release };
}

/** @param page.lastKey undefined: no page follows. */
function headOf(
  query: URLSearchParams,
  page: { count: number; keyCount: number; keysMax: number; lastKey: string | undefined },
): string {
  const { count, keyCount, keysMax, lastKey } = page;
  const next = lastKey === undefined ? undefined : Buffer.from(lastKey).toString('base64url');
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">' +
    `<Name>n${count}</Name><Prefix>${query.get('prefix') ?? ''}</Prefix>` +
    (next === undefined ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`) +
    `<KeyCount>${keyCount}</KeyCount><MaxKeys>${keysMax}</MaxKeys>` +
    (query.get('encoding-type') === 'url' ? '<EncodingType>url</EncodingType>' : '') +
    `<IsTruncated>${next !== undefined}</IsTruncated>`
  );
}
