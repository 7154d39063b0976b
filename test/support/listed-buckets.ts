import { setTimeout as sleep } from 'node:timers/promises';
import { KeyIndex, listObjects } from '../../local/store/listing.ts';
import { errorReply, type Faults, type Reply } from './lying-store.ts';
import { Random } from './random.ts';
import type { ListedObject } from './round-listing.ts';

const etag = '0123456789abcdef0123456789abcdef';

/** Part of the body. */
function cutAnywhere({ body, ...reply }: Reply, random: Random): Reply {
  const bytes = Buffer.from(body ?? '');
  return { ...reply, body: bytes.subarray(0, Math.floor(bytes.length * random.next())) };
}

const faults = {
  'slow-down': () => errorReply(503, 'SlowDown'),
  'error-200': () => errorReply(200, 'InternalError'),
  never: () => new Promise<never>(() => {}),
  drop: () => Promise.reject(new Error('dropped')),
  cut: (page: Reply, random: Random) => ({ ...cutAnywhere(page, random), isCut: true }),
  /** The end of the connection isn't noticed. */
  'cut-politely': cutAnywhere,
} satisfies Record<string, (page: Reply, random: Random) => Reply | Promise<Reply>>;

/** How a listing can fail. */
export type ListFault = keyof typeof faults;

/**
 * Buckets that are only listed: any names and sizes, as many as one wants, by the listing of the local store. All else is
 * answered by the store itself, which has none of them.
 */
export class ListedBuckets {
  readonly #buckets = new Map<string, Parameters<typeof listObjects>[0]>();
  readonly #random = new Random(1);
  /** LISTs that were answered with a page. */
  served = 0;
  requests = 0;
  latencyMs = 0;
  /** Asked for each request, by its number from 1. */
  faultOf: (request: number) => ListFault | undefined = () => undefined;
  /** Called with the number of a request that has arrived. */
  onRequest: (request: number) => void = () => {};

  /** What a store is started with, to list them. */
  readonly faults: Faults = {
    instead: async (request) => {
      this.requests += 1;
      const fault = this.faultOf(this.requests);
      this.onRequest(this.requests);
      if (this.latencyMs > 0) await sleep(this.latencyMs);
      const index = this.#buckets.get(request.bucket);
      if (index === undefined) return undefined;
      const { status, body } = listObjects(index, request);
      const page = { status, body: String(body) };
      if (fault !== undefined) return await faults[fault](page, this.#random);
      this.served += 1;
      return page;
    },
  };

  add(bucket: string, objects: readonly ListedObject[]): void {
    const entries = objects.map((object) => [object.key, { lastModifiedMs: 0, etag, ...object }] as const);
    this.#buckets.set(bucket, new KeyIndex(entries));
  }

  /** Behaves well again, and counts from 0. */
  reset(): void {
    this.served = 0;
    this.requests = 0;
    this.latencyMs = 0;
    this.faultOf = () => undefined;
    this.onRequest = () => {};
  }
}
