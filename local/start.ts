import { AsyncLocalStorage } from 'node:async_hooks';
import { join, resolve } from 'node:path';
import type { Invocations, Log } from '../lambda/core/rules/clock-and-log.ts';
import { demoTenant } from '../lambda/core/rules/names.ts';
import { defaultSettings, type Settings } from '../lambda/core/rules/settings.ts';
import type { AdoptedRepo } from '../lambda/core/store/rules/adopted-repos.ts';
import type { Table } from '../lambda/core/table/requests.ts';
import { systemClock, systemIds } from '../lambda/frame/aws/clock-and-ids.ts';
import { createInvocationLog, createInvocations } from '../lambda/frame/aws/invocation-log.ts';
import { isFull } from '../lambda/frame/gauges/rules/disk.ts';
import type { Mailer } from '../lambda/frame/net/ports.ts';
import { ownDelivery, sharedDelivery } from './background/delivery.ts';
import { defaultQueueTiming, type QueueTiming } from './background/queues.ts';
import { countdown, startExpirySweep, systemTimers } from './background/schedule.ts';
import { composeEmbedded, createFunctions, embeddedStore, type StackStore } from './compose.ts';
import { serveBackups } from './data/backups.ts';
import { adminTokenOf, openDataFolder, storeCredentialsOf } from './data/data-folder.ts';
import { type Database, isOfDisk, openDatabase, openDatabaseError } from './data/database.ts';
import { tableFolder } from './data/older-folder.ts';
import { openSharedTable, type TableSettings } from './data/shared-table.ts';
import { ensureDemo, type StartedStack } from './demo.ts';
import type { Deps } from './deps.ts';
import {
  type AnsweredRequest,
  type HttpFront,
  type HttpFrontOptions,
  type HttpFunctions,
  openHttpFront,
} from './front.ts';
import type { RequestLimits } from './limits.ts';
import type { ServerMetrics } from './metrics.ts';
import { optionsOf, type SubjectOptions } from './options.ts';
import { type Origin, originOf, type Reach } from './reach.ts';
import { createSpace, readDisk } from './space.ts';
import type { DamagedFile } from './store/damage.ts';
import type { StoreCredentials } from './store/signed-request.ts';
import { startStore } from './store/start-store.ts';
import { countLosses } from './store-damage.ts';
import type { ConnectionLimits } from './system/connections.ts';
import { StartupError } from './system/durable-file.ts';
import { tenantNames } from './tenant-names.ts';
import { Turns } from './turns.ts';

/** Closing steps, run in the opposite order of their adding. */
export class Cleanup {
  readonly #steps: (() => Promise<void> | void)[] = [];

  add(step: () => Promise<void> | void): void {
    this.#steps.push(step);
  }

  /** Runs every step, even after one that failed. @throws the first failure. */
  async run(): Promise<void> {
    const failures: unknown[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

interface EmbeddedStackOptions extends Partial<SubjectOptions> {
  /** 0: any free port. */
  readonly port: number;
  readonly dataDir: string;
  /** Without it, one is created once and kept in the data folder. */
  readonly adminToken?: string | undefined;
  /** Without it, nothing is logged. */
  readonly log?: Log;
  readonly settings?: Partial<Settings>;
  readonly queueTiming?: Partial<QueueTiming>;
  /** Default: the disks of these folders. */
  readonly diskOf?: typeof readDisk;
  /** Repos whose objects lie in the store where another server put them. Default: none. */
  readonly adoptedRepos?: readonly AdoptedRepo[];
  /** Webhooks may be on this machine, by plain HTTP: for tests and development. Default: they may not. */
  readonly allowsLoopbackWebhooks?: boolean;
  /** Each hour of usage is written to the store, too. */
  readonly writesUsage?: boolean | undefined;
  /** Default: e-mails are logged. */
  readonly mailer?: Mailer;
  /** On the first start: the tenant `demo` with a token (default true). */
  readonly createDemo?: boolean;
  /** On which address it listens, and what others call it. Default: only this machine reaches it. */
  readonly host?: string;
  readonly reach?: Reach;
  /** Default: no limit. */
  readonly limits?: RequestLimits;
  readonly connections?: ConnectionLimits;
  readonly metrics?: ServerMetrics;
  /** A line of the log for each request. */
  readonly logsRequests?: boolean;
  /** How long a stop waits for requests and what runs without one, in all. A restart resumes what did not end. Default: 5 s. */
  readonly graceMs?: number;
  /** Where the objects lie. Default: in the data folder. */
  readonly store?: StackStore;
  /** A table that other processes use, too. Default: in the data folder. */
  readonly table?: TableSettings;
  /** Called with lines for people about the progress of the start. */
  readonly onProgress?: (line: string) => void;
}

export interface EmbeddedStack extends StartedStack {
  /** Where it listens. */
  readonly port: number;
  /** Where the store takes requests that are signed in the headers: the embedded one, from this machine alone. */
  readonly storeUrl: string;
  /** Whether it takes pushes. */
  isReady(): boolean;
  /** Ends each connection with its next response. */
  drain(): void;
  /** Waits for running work for some seconds, and releases the data folder and the ports. */
  close(): Promise<void>;
}

/** The embedded store's. As no tenant may have this name, the front knows its paths. */
const bucket = '_objects';

/** The embedded queue itself keeps reconciles apart, and LIST requests to the embedded store cost no money. */
const embeddedSettings: Settings = {
  ...defaultSettings,
  reconcileRestMs: 0,
  listRequestsPerHour: 1_000_000,
};

const usualGraceMs = 5_000;
const system = { clock: systemClock, ids: systemIds };

const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} };

/**
 * Starts everything in this process: HTTP front, functions, store, database, queue and schedule.
 *
 * @throws {StartupError} when the person who starts it can correct the cause.
 */
export async function startEmbeddedStack(options: EmbeddedStackOptions): Promise<EmbeddedStack> {
  const cleanup = new Cleanup();
  try {
    return await start(options, cleanup);
  } catch (error) {
    await cleanup.run().catch(() => undefined);
    if (error instanceof StartupError || !isOfDisk(error)) throw error;
    throw openDatabaseError(join(resolve(options.dataDir), tableFolder), error);
  }
}

async function start(options: EmbeddedStackOptions, cleanup: Cleanup): Promise<EmbeddedStack> {
  const { onProgress = () => {}, createDemo: createsDemo = true, metrics, reach = {} } = options;
  const graceLeftMs = countdown(options.graceMs ?? usualGraceMs);
  const invocations = createInvocations();
  const log = createInvocationLog(options.log ?? silentLog, invocations);
  const folder = await openDataFolder(options.dataDir);
  cleanup.add(folder.release);
  onProgress(`data folder ${folder.path}`);
  // The kernel keeps its lock: whoever doesn't get it may change nothing in the folder.
  const database = await openTable(options, { folder, log, cleanup });
  const admin = await adminTokenOf({ folder: folder.path, given: options.adminToken }, systemIds);
  const credentials = await storeCredentialsOf(folder.path, systemIds);

  const settings = { ...(options.store ? defaultSettings : embeddedSettings), ...options.settings };
  const turns = new Turns();
  const functions = pending<HttpFunctions>();
  cleanup.add(() => functions.reject(new Error('The stack did not start.')));
  const store = options.store ?? (await openStore(options, { folder, credentials, settings, log, cleanup }));
  const asked = new AsyncLocalStorage<Origin>();
  const front = await openFront(options, { functions: functions.promise, log, turns, asked, objects: store });
  cleanup.add(() => front.close(0));
  const first = originOf(reach, { host: undefined, port: front.port });
  onProgress(`object store ${store.endpoint}`);

  const delivery = deliveryOf(options, { table: database, log, invocations });
  const { deps, close } = composeEmbedded({
    database,
    store,
    url: new URL(first.url).origin,
    objectsUrl: () => reach.objectsUrl ?? (asked.getStore() ?? first).url,
    ...delivery.queues,
    queueGauges: delivery.gauges,
    mailer: options.mailer ?? loggingMailer(log),
    allowsLoopbackWebhooks: options.allowsLoopbackWebhooks ?? false,
    writesUsage: options.writesUsage,
    ...optionsOf(options),
    adoptedRepos: options.adoptedRepos ?? [],
    adminToken: admin.token,
    ...system,
    log,
    invocations,
    settings,
    turns,
    metrics,
  });
  cleanup.add(close);
  metrics?.watch({ ...deps, isShared: options.table !== undefined });

  await requireFreeNames(deps, { createsDemo });
  await startBackground(delivery, { deps, url: first.url, cleanup, graceLeftMs });
  const demo = createsDemo ? await ensureDemo(deps, { folder: folder.path, apiUrl: first.url }) : undefined;
  functions.resolve(createFunctions(deps, { askedPath: () => asked.getStore()?.path ?? '' }).http);

  let closed: Promise<void> | undefined;
  return {
    url: first.url,
    port: front.port,
    storeUrl: store.endpoint,
    dataPath: folder.path,
    demo,
    adminToken: admin.token,
    adminTokenOrigin: admin.origin,
    isReady: () => !deps.disk || !isFull(deps.disk()),
    drain: front.drain,
    close() {
      // Requests first, because they need everything else.
      closed ??= front.close(graceLeftMs()).then(() => cleanup.run());
      return closed;
    },
  };
}

/** The table of the data folder, with its backups and without what expired, or that of a service, which has these itself. */
async function openTable(
  { table, store, diskOf = readDisk, onProgress = () => {} }: EmbeddedStackOptions,
  input: { folder: Awaited<ReturnType<typeof openDataFolder>>; log: Log; cleanup: Cleanup },
): Promise<Pick<Database, 'client' | 'tableName' | 'isWritable'> & Pick<Deps, 'disk'>> {
  const { folder, log, cleanup } = input;
  if (table) return openSharedTable(table, { ownPath: folder.databasePath, log, ...system });
  const database = await openDatabase(folder.databasePath);
  cleanup.add(database.close);
  onProgress(`database ${database.origin}`);
  cleanup.add(await serveBackups({ folder: folder.path, log, snapshot: database.snapshot }));
  const sweep = startExpirySweep(database.removeExpired, { clock: systemClock, timers: systemTimers, log });
  cleanup.add(() => sweep.close(usualGraceMs));
  const folders = [folder.databasePath, ...(store ? [] : [folder.storePath])];
  return { ...database, disk: () => ({ ...diskOf(...folders), isWritable: database.isWritable() }) };
}

function deliveryOf(
  { table, queueTiming }: EmbeddedStackOptions,
  parts: { table: Table & Pick<Database, 'isWritable'>; log: Log; invocations: Invocations },
) {
  return (table ? sharedDelivery : ownDelivery)({
    ...parts,
    isWritable: parts.table.isWritable,
    clock: systemClock,
    timers: systemTimers,
    elapsedMs: () => performance.now(),
    timing: { ...defaultQueueTiming, ...queueTiming },
  });
}

function openFront(
  { port, host = '127.0.0.1', reach = {}, limits, connections, metrics, logsRequests }: EmbeddedStackOptions,
  parts: Pick<HttpFrontOptions, 'functions' | 'log' | 'turns' | 'asked' | 'objects'>,
): Promise<HttpFront> {
  const onAnswered = (request: AnsweredRequest) => {
    metrics?.answered(request);
    if (logsRequests) parts.log.info('request', { ...request });
  };
  return openHttpFront({ ...parts, port, host, reach, limits, connections, onAnswered, clock: systemClock });
}

/** The store of the data folder. */
async function openStore(
  { diskOf = readDisk }: EmbeddedStackOptions,
  input: {
    folder: { readonly storePath: string };
    credentials: StoreCredentials;
    settings: Settings;
    log: Log;
    cleanup: Cleanup;
  },
): Promise<StackStore> {
  const { folder, credentials, settings, log, cleanup } = input;
  const onError = (error: unknown) => log.error('object store failed', { error });
  const onDamage = (file: DamagedFile) => log.error('damaged or foreign file', { ...file });
  const place = { port: 0, dataDir: folder.storePath, onError, onDamage };
  const store = await startStore({ ...place, bucket, credentials, uploadTime: settings });
  cleanup.add(() => store.close());
  const space = createSpace({ ...store, folder: folder.storePath }, systemClock.nowMs, diskOf);
  return embeddedStore({ ...store, ...space }, { bucket, credentials });
}

/** Without a mail server: whoever runs this reads the e-mails in its log. */
const loggingMailer = (log: Log): Mailer => ({
  send: async ({ to, subject, text }) => log.info('e-mail', { to, subject, text }),
});

/** Starts what runs without a request. */
async function startBackground(
  delivery: ReturnType<typeof deliveryOf>,
  input: { deps: Deps; url: string; cleanup: Cleanup; graceLeftMs: () => number },
): Promise<void> {
  const { deps, url, cleanup, graceLeftMs } = input;
  await countLosses(deps);
  const running = await delivery.start({ ...deps, ...createFunctions(deps, { publicUrl: url }) });
  cleanup.add(() => running.close(graceLeftMs()));
}

/** A promise with its own `resolve` and `reject`. Its rejection counts as handled. */
function pending<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

/**
 * A tenant that was there before the setting may have a name that now leads into an adopted path. Every request about it
 * would fail.
 *
 * @throws {StartupError}
 */
async function requireFreeNames(
  deps: Pick<Deps, 'ledger' | 'adoptedRepos'>,
  { createsDemo }: { createsDemo: boolean },
): Promise<void> {
  const { adoptedRepos } = deps;
  if (adoptedRepos.all.length === 0) return;
  if (createsDemo) requireFree(adoptedRepos, demoTenant);
  for await (const tenant of tenantNames(deps)) requireFree(adoptedRepos, tenant);
}

function requireFree(adoptedRepos: Deps['adoptedRepos'], tenant: string): void {
  if (adoptedRepos.isReserved(tenant))
    throw new StartupError(
      `An adopted path starts with ${tenant}/, and ${tenant} is a tenant here. Their keys would mix. ` +
        'Move them to another path first.',
    );
}
