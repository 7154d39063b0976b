import type { Adopting } from '../../lambda/adapters/adopted/adopting.ts';
import { createInvocations } from '../../lambda/adapters/system/invocations.ts';
import { ListingPace } from '../../lambda/domain/ask-by-listing.ts';
import type { KnownObjects } from '../../lambda/domain/known-objects.ts';
import { RefusalTally } from '../../lambda/domain/refusal-tally.ts';
import type { Settings } from '../../lambda/domain/settings.ts';
import type { ArchiveStore } from '../../lambda/ports/archive-store.ts';
import type { Clock } from '../../lambda/ports/clock.ts';
import type { Downloads } from '../../lambda/ports/downloads.ts';
import type { ExportJobs } from '../../lambda/ports/export-jobs.ts';
import type { Ledger } from '../../lambda/ports/ledger.ts';
import type { Log } from '../../lambda/ports/log.ts';
import type { Metrics } from '../../lambda/ports/metrics.ts';
import type { ObjectListing } from '../../lambda/ports/object-listing.ts';
import { type ObjectStore, StoreUnavailableError, type UrlSigner } from '../../lambda/ports/object-store.ts';
import type { RecountRequest } from '../../lambda/ports/recount-queue.ts';
import type { RequestKeys } from '../../lambda/ports/request-keys.ts';
import type { Deps } from '../../lambda/use-cases/deps.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import type { MemoryArchiveStore } from '../support/memory/archive-store.ts';
import { memoryDeps, seededIds } from '../support/memory/deps.ts';
import type { MemoryObjectStore } from '../support/memory/object-store.ts';
import { MemoryHistory, MemoryWarnings } from '../support/memory/stores.ts';
import type { Random } from '../support/random.ts';
import type { Actor } from './actor.ts';
import { Violation } from './invariants.ts';
import { replacing } from './with-methods.ts';

const reads = new Set<keyof Ledger>([
  'readTenant',
  'readReservation',
  'readRepo',
  'listTenants',
  'dueTenants',
  'readRefreshState',
  'readCleanup',
  'deletionsNaming',
  'goneOf',
]);
const paged = new Set<keyof Ledger>([
  'reservations',
  'reservationsOf',
  'repos',
  'deletions',
  'deletionsOf',
  'shards',
  'seen',
]);

/** The ledger as one function sees it: every method is an operation that takes time and can fail. */
function ledgerOf(actor: Actor, ledger: Ledger): Ledger {
  return new Proxy(ledger, {
    get(target, property, receiver) {
      const name = property as keyof Ledger;
      const method = Reflect.get(target, property, receiver) as (...args: unknown[]) => unknown;
      if (typeof method !== 'function') return method;
      const call = (...args: unknown[]) => method.apply(target, args);
      if (paged.has(name))
        return (...args: unknown[]) => pagesOf(actor, name, () => call(...args) as AsyncIterable<unknown>);
      const kind = reads.has(name) ? 'read' : 'write';
      return (...args: unknown[]) => actor.operation(kind, () => call(...args) as Promise<unknown>, name);
    },
  });
}

async function* pagesOf<T>(actor: Actor, name: keyof Ledger, open: () => AsyncIterable<T>): AsyncIterable<T> {
  const iterator = open()[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await actor.page('read', () => iterator.next(), name);
    if (done) return;
    yield value;
  }
}

/**
 * The store as one function sees it. A page of a listing has a few keys, so that much can happen between pages. A
 * delete of many is tried once, and each key may fail. If its answer is lost, it may still take effect at any time up to its deadline.
 */
function storeOf(actor: Actor, world: WorldPorts): ObjectStore & ObjectListing {
  const { store, pageSize, adopting } = world;
  const remove = (storedKey: string) => {
    const key = adopting.repos.keyOf(storedKey);
    if (key === undefined) throw new Violation(`${storedKey} is deleted, which is nobody's.`);
    world.remove(key);
  };
  const bucket: ObjectStore & ObjectListing = {
    head: (key) => actor.operation('store', () => store.head(key)),
    delete: async (keys, { deadlineMs }) => {
      const failed = new Map<string, StoreUnavailableError>();
      const deleteSome = async () => {
        if (actor.nowMs() > deadlineMs) throw new StoreUnavailableError('The deadline has passed.');
        const leftMs = deadlineMs - actor.nowMs();
        // A single attempt, which ends by its deadline. Each key goes at a time of its own, so it may be half done.
        if (actor.isUnlucky('lostAnswer')) {
          for (const key of keys) world.later(leftMs, () => remove(key));
          throw new StoreUnavailableError('The answer was lost.');
        }
        const middle = Math.ceil(keys.length / 2);
        for (const key of keys.slice(0, middle)) remove(key);
        await actor.slowly(leftMs, slowDeletes, async () => {
          for (const key of keys.slice(middle)) {
            if (actor.isUnlucky('fail'))
              failed.set(key, new StoreUnavailableError('Of all keys, not this one.'));
            else remove(key);
          }
        });
        return failed;
      };
      try {
        return await actor.operation('store', deleteSome, 'delete');
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        return new Map(keys.map((key) => [key, error]));
      }
    },
    listPage: (request) =>
      actor.page(
        'store',
        () => store.listPage({ ...request, maxKeys: Math.min(pageSize, request.maxKeys ?? pageSize) }),
        'listPage',
      ),
    listFolders: (request) => actor.operation('store', () => store.listFolders(request)),
  };
  const objects = adopting.store(bucket);
  const listing = adopting.listing({ ...bucket, warmUp: async () => {} });
  return {
    head: (key) => objects.head(key),
    delete: (keys, options) => objects.delete(keys, options),
    listPage: (request) => listing.listPage(request),
    listFolders: (request) => listing.listFolders(request),
  };
}

/** How often a delete in a slow world is not answered at once. */
const slowDeletes = 0.3;

export interface WorldPorts {
  readonly ledger: Ledger;
  readonly requestKeys: RequestKeys;
  readonly store: MemoryObjectStore;
  readonly adopting: Adopting;
  /** Files beside what tenants store. */
  readonly archives: MemoryArchiveStore;
  /** Whether they come back cut. */
  readonly areFilesLost: boolean;
  readonly downloads: Downloads;
  readonly exportJobs: ExportJobs;
  readonly signer: UrlSigner;
  /** Fixes what is known of a request now. @returns sends it. */
  prepare(request: RecountRequest): () => void;
  readonly metrics: Metrics;
  readonly random: Random;
  readonly settings: Settings;
  readonly pageSize: number;
  /** What the process knows in which the function runs. */
  readonly knownObjects: KnownObjects;
  /** Removes an object from the bucket. */
  remove(key: string): void;
  /** Ends the run at the next step. */
  fail(error: unknown): void;
  /** Runs something at a random moment within this time. */
  later(withinMs: number, run: () => void): void;
}

/** What no simulated function changes. */
const unused = memoryDeps();

/** All that one invocation of a function depends on. Ports that are not named here take no time and cannot fail. */
export function depsOf(actor: Actor, world: WorldPorts): Omit<Deps, 'tokens' | 'admin'> {
  const store = storeOf(actor, world);
  const { signer, metrics, settings, requestKeys, knownObjects, archives } = world;
  const clock: Clock = { nowMs: () => actor.nowMs(), sleep: (durationMs) => actor.sleep(durationMs) };
  // What a function catches, it logs. A mistake of ours, and a violation, end the run all the same.
  const noted: Log['error'] = (_, fields) => {
    const error = fields?.['error'];
    if (error instanceof Error && !/UnavailableError$/.test(error.name)) world.fail(error);
  };
  return {
    ...unused,
    log: { ...unused.log, warn: noted, error: noted },
    // Nothing is decided by these, and no run is to differ because another was before it.
    history: new MemoryHistory(),
    warnings: new MemoryWarnings(),
    refusalTally: new RefusalTally(),
    listingPace: new ListingPace(),
    invocations: createInvocations(),
    scan: createPathScan({ listing: store, clock, settings }),
    ledger: ledgerOf(actor, world.ledger),
    requestKeys: {
      begin: (record) => actor.operation('write', () => requestKeys.begin(record)),
      isKnown: (key) => actor.operation('read', () => requestKeys.isKnown(key)),
      finish: (id) => actor.operation('write', () => requestKeys.finish(id)),
    },
    store,
    listing: store,
    adoptedRepos: world.adopting.repos,
    archives: replacing<ArchiveStore>(archives, {
      put: (key, bytes) => actor.operation('file', () => archives.put(key, bytes)),
      get: (key) =>
        actor.operation('file', async () => {
          const bytes = await archives.get(key);
          return world.areFilesLost ? bytes?.subarray(0, bytes.length / 2) : bytes;
        }),
      delete: (keys) => actor.operation('file', () => archives.delete(keys)),
    }),
    downloads: replacing<Downloads>(world.downloads, {
      meter: (offer) => actor.operation('write', () => world.downloads.meter(offer)),
      addToDay: (offer) => actor.operation('write', () => world.downloads.addToDay(offer)),
    }),
    exportJobs: replacing<ExportJobs>(world.exportJobs, {
      create: (job, options) => actor.operation('write', () => world.exportJobs.create(job, options)),
      change: (path, change) => actor.operation('write', () => world.exportJobs.change(path, change)),
      list: (input) => actor.operation('read', () => world.exportJobs.list(input)),
    }),
    signer,
    queue: {
      request: (request) => {
        const send = world.prepare(request);
        return actor.operation('write', async () => send());
      },
      requestAll: (requests) => {
        const sends = requests.map((request) => world.prepare(request));
        return actor.operation('write', async () => {
          for (const send of sends) send();
        });
      },
    },
    clock,
    ids: seededIds(world.random),
    metrics,
    settings,
    knownObjects,
  };
}
