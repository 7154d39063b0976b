import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeServer, listenOnLoopback } from '../../local/system/loopback-server.ts';
import { KeySet } from './keys.ts';

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
