import { deletionMethods } from '../../lambda/core/ledger/deletion-store.ts';
import { emptiedMethods } from '../../lambda/core/ledger/emptied-store.ts';
import type { Ledger } from '../../lambda/core/ledger/ledger.ts';
import { reconcileMethods } from '../../lambda/core/ledger/reconcile-store.ts';
import { refreshMethods } from '../../lambda/core/ledger/refresh-store.ts';
import { repoMethods, shardMethods } from '../../lambda/core/ledger/repo-store.ts';
import { reservationMethods } from '../../lambda/core/ledger/reservation-store.ts';
import type { ReconcileRequest } from '../../lambda/core/ledger/rules/reconcile-policy.ts';
import { counterMethods } from '../../lambda/core/ledger/tenant-counter-store.ts';
import { tenantMethods } from '../../lambda/core/ledger/tenant-store.ts';
import { watchMethods } from '../../lambda/core/ledger/watch-store.ts';
import type { Clock, Log } from '../../lambda/core/rules/clock-and-log.ts';
import type { SwitchedQueue } from '../../lambda/core/rules/jobs.ts';
import { allThose } from '../../lambda/core/rules/lists.ts';
import type { Metrics } from '../../lambda/core/rules/metrics.ts';
import type { Settings } from '../../lambda/core/rules/settings.ts';
import { createPathScan } from '../../lambda/core/scan/path-scan.ts';
import { type KnownObjects, ListingPace } from '../../lambda/core/scan/rules/known-objects.ts';
import { adoptedListing, adoptedStore } from '../../lambda/core/store/adopted.ts';
import type { AdoptedRepos } from '../../lambda/core/store/rules/adopted-repos.ts';
import type { MultipartUpload } from '../../lambda/core/store/rules/archive-store.ts';
import {
  type ObjectListing,
  type ObjectStore,
  StoreUnavailableError,
  type UrlSigner,
} from '../../lambda/core/store/rules/store.ts';
import type { Table } from '../../lambda/core/table/requests.ts';
import { storesOf } from '../../lambda/core/table/stores.ts';
import { createInvocations } from '../../lambda/frame/aws/invocation-log.ts';
import * as listeners from '../../lambda/lists/listeners.ts';
import * as stores from '../../lambda/lists/stores.ts';
import { allSeamsOf } from '../../lambda/subjects.ts';
import type { Deps } from '../../local/deps.ts';
import type { MemoryArchiveStore } from '../support/memory/archive-store.ts';
import { memoryDeps, seededIds } from '../support/memory/deps.ts';
import type { MemoryObjectStore } from '../support/memory/object-store.ts';
import { memoryTable } from '../support/memory/table.ts';
import type { Random } from '../support/random.ts';
import type { Actor } from './actor.ts';
import { archivesOf } from './archives-port.ts';
import { Violation } from './invariants.ts';
import type { SubjectCode } from './subject-code.ts';
import * as subjects from './subjects-code.ts';
import { tableOf } from './table.ts';

/** The method of the ledger → what makes it and a few others. */
const ledgerParts = new Map(
  [
    tenantMethods,
    counterMethods,
    repoMethods,
    reservationMethods,
    reconcileMethods,
    shardMethods,
    deletionMethods,
    emptiedMethods,
    watchMethods,
    refreshMethods,
  ].flatMap((part: (table: Table) => Partial<Ledger>) =>
    Object.keys(part(memoryTable())).map((name) => [name as keyof Ledger, part]),
  ),
);

/**
 * The deployed ledger on the table as one function sees it. Each method has a client of its own, so that a story can say at
 * which call of the ledger something happens.
 */
function ledgerOf(actor: Actor, world: WorldPorts): Ledger {
  const methods: Partial<Record<keyof Ledger, unknown>> = {};
  return new Proxy(methods as Ledger, {
    get(_, name) {
      const call = name as keyof Ledger;
      const part = ledgerParts.get(call);
      if (part) methods[call] ??= part(tableOf(actor, { ...world, call }))[call];
      return methods[call];
    },
  });
}

/**
 * The store as one function sees it. A page of a listing has a few keys, so that much can happen between pages. A
 * delete of many is tried once, and each key may fail. If its answer is lost, it may still take effect at any time up to its deadline.
 */
function storeOf(actor: Actor, world: WorldPorts): ObjectStore & ObjectListing {
  const { store, keysPerPage, adoptedRepos } = world;
  const remove = (storedKey: string) => {
    const key = adoptedRepos.keyOf(storedKey);
    if (key === undefined) throw new Violation(`${storedKey} is deleted, which is nobody's.`);
    world.remove(key);
  };
  const bucket: ObjectStore & ObjectListing = {
    head: (key) => actor.operation('store', () => store.head(key)),
    putEmpty: (storedKey, { mark, onlyNew, deadlineMs }) => {
      const key = adoptedRepos.keyOf(storedKey);
      if (key === undefined) throw new Violation(`${storedKey} is made empty, which is nobody's.`);
      const put = async () => {
        const leftMs = deadlineMs - actor.nowMs();
        if (leftMs < 0) throw new StoreUnavailableError('The deadline has passed.');
        if (!actor.isUnlucky('lostAnswer'))
          return actor.slowly(leftMs, slowDeletes, async () => world.putEmpty(key, { mark, onlyNew }));
        world.later(leftMs, () => world.putEmpty(key, { mark, onlyNew }));
        throw new StoreUnavailableError('The answer was lost.');
      };
      return actor.operation('store', put, 'putEmpty');
    },
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
        () => store.listPage({ ...request, maxKeys: Math.min(keysPerPage, request.maxKeys ?? keysPerPage) }),
        'listPage',
      ),
    listFolders: (request) => actor.operation('store', () => store.listFolders(request)),
  };
  const objects = adoptedStore(bucket, adoptedRepos);
  const listing = adoptedListing({ ...bucket, warmUp: async () => {} }, adoptedRepos);
  return {
    head: (key) => objects.head(key),
    putEmpty: (key, options) => objects.putEmpty(key, options),
    delete: (keys, options) => objects.delete(keys, options),
    listPage: (request) => listing.listPage(request),
    listFolders: (request) => listing.listFolders(request),
  };
}

/** How often a delete in a slow world is not answered at once. */
const slowDeletes = 0.3;

interface WorldPorts {
  readonly table: Table;
  readonly store: MemoryObjectStore;
  readonly adoptedRepos: AdoptedRepos;
  /** Files beside what tenants store, and what objects are made of. */
  readonly archives: MemoryArchiveStore;
  onCreated(upload: MultipartUpload): void;
  onMade(upload: MultipartUpload): Promise<void>;
  onAborted(upload: MultipartUpload): void;
  /** Whether files are uploaded in parts. */
  readonly inParts: boolean;
  sendJobs(port: string, jobs: readonly object[]): void;
  /** Whether files come back cut. */
  readonly areFilesLost: boolean;
  readonly signer: UrlSigner;
  /** Fixes what is known of a request now. @returns sends it. */
  prepare(request: ReconcileRequest): () => void;
  readonly metrics: Metrics;
  readonly random: Random;
  readonly settings: Settings;
  /** Items of an answer of the table. */
  readonly pageSize: number;
  /** Of a listing. */
  readonly keysPerPage: number;
  /** What the process knows in which the function runs. */
  readonly knownObjects: KnownObjects;
  /** Removes an object from the bucket. */
  remove(key: string): void;
  /** Puts 0 bytes in the place of an object. @param onlyNew unless there is one. */
  putEmpty(key: string, how: { mark: string; onlyNew: boolean }): 'put' | 'taken';
  /** Ends the run at the next step. */
  fail(error: unknown): void;
  /** Runs something at a random moment within this time. */
  later(withinMs: number, run: () => void): void;
}

/** What no simulated function changes. */
const unused = memoryDeps();

/** Without the ports that no simulated function may use, because they are not simulated. */
export type SimDeps = Omit<Deps, 'admin'>;

/** What a mutant may change. */
export type SimPorts = Omit<SimDeps, keyof ReturnType<typeof allSeamsOf>>;

/** With the subjects, which get the same ports. */
export const bound = (ports: SimPorts): SimDeps => ({ ...ports, ...allSeamsOf(ports) });

const storesOfSubjects = (table: Table, world: WorldPorts): Partial<SimPorts> =>
  Object.assign({}, ...Object.values<SubjectCode>(subjects).map((of) => of.stores(table, world)));

function queuesOfSubjects(actor: Actor, world: WorldPorts): Partial<SimPorts> {
  const ports = Object.values<SubjectCode>(subjects).flatMap(({ queues = [] }) => queues);
  const queueOf = (port: string): SwitchedQueue<object> => ({
    isOn: true,
    send: (jobs) => actor.operation('queue', async () => world.sendJobs(port, jobs)),
  });
  return Object.fromEntries(ports.map((port) => [port, queueOf(port)]));
}

/** All that one invocation of a function depends on. Ports that are not named here take no time and cannot fail. */
export function depsOf(actor: Actor, world: WorldPorts): SimPorts {
  const store = storeOf(actor, world);
  const { signer, metrics, settings, knownObjects } = world;
  const table = tableOf(actor, world);
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
    ...storesOf(allThose(listeners, 'stores'), memoryTable()),
    listingPace: new ListingPace(),
    invocations: createInvocations(),
    scan: createPathScan({ listing: store, clock, settings }),
    ledger: ledgerOf(actor, world),
    ...storesOfSubjects(table, world),
    requestKeys: stores.requestKeys(table),
    tokens: stores.tokens(table),
    store,
    listing: store,
    adoptedRepos: world.adoptedRepos,
    archives: archivesOf(actor, world),
    ...queuesOfSubjects(actor, world),
    signer,
    queue: {
      request: (request) => {
        const send = world.prepare(request);
        return actor.operation('queue', async () => send());
      },
      requestAll: (requests) => {
        const sends = requests.map((request) => world.prepare(request));
        return actor.operation('queue', async () => {
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
