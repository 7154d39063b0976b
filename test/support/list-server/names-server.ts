import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ListedObject, RoundListing } from '../round-listing.ts';

/** What a request is answered with instead of a page. */
export type Fault = 'slow-down' | 'never' | undefined;

/** A store that can only list: any names, each bucket with its own. */
export class NamesServer {
  readonly #buckets = new Map<string, RoundListing>();
  readonly #server: Server;
  /** LISTs that were answered with a page. */
  served = 0;
  requests = 0;
  latencyMs = 0;
  /** Asked for each request, by its number from 1. */
  faultOf: (request: number) => Fault = () => undefined;
  /** Called with the number of a request that has arrived. */
  onRequest: (request: number) => void = () => {};

  constructor() {
    this.#server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      void this.#answer(request, response);
    });
  }

  add(bucket: string, objects: readonly ListedObject[]): void {
    this.#buckets.set(bucket, new RoundListing(objects));
  }

  /** @returns the address. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Behaves well again, and counts from 0. */
  reset(): void {
    this.served = 0;
    this.requests = 0;
    this.latencyMs = 0;
    this.faultOf = () => undefined;
    this.onRequest = () => {};
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://list');
    const listing = this.#buckets.get(url.pathname.split('/')[1] ?? '');
    this.requests += 1;
    const fault = this.faultOf(this.requests);
    this.onRequest(this.requests);
    if (this.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, this.latencyMs));
    if (fault === 'never') return;
    if (fault === 'slow-down' || listing === undefined) {
      const [status, code] = fault === 'slow-down' ? [503, 'SlowDown'] : [404, 'NoSuchBucket'];
      response.writeHead(status).end(`<Error><Code>${code}</Code><Message>No.</Message></Error>`);
      return;
    }
    this.served += 1;
    response.writeHead(200, { 'content-type': 'application/xml' }).end(pageOf(listing, url.searchParams));
  }
}

function pageOf(listing: RoundListing, query: URLSearchParams): string {
  const [startAfter, token] = [query.get('start-after'), query.get('continuation-token')];
  const page = listing.pageOf({
    prefix: query.get('prefix') ?? '',
    maxKeys: Number(query.get('max-keys') ?? 1000),
    ...(startAfter !== null && { startAfter }),
    ...(token !== null && { continuationToken: decodeURIComponent(token) }),
  });
  const { isTruncated, nextContinuationToken: next } = page;
  const entries = Array.from({ length: page.keyCount }, (_, index) => {
    return `<Contents><Key>${encodeURIComponent(page.keyAt(index))}</Key><Size>${page.sizeAt(index)}</Size></Contents>`;
  });
  return (
    `<ListBucketResult><KeyCount>${page.keyCount}</KeyCount><EncodingType>url</EncodingType>` +
    `<IsTruncated>${isTruncated}</IsTruncated>${entries.join('')}` +
    (next === undefined ? '' : `<NextContinuationToken>${encodeURIComponent(next)}</NextContinuationToken>`) +
    '</ListBucketResult>'
  );
}
