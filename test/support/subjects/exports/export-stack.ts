import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { ExportBusyError } from '../../../../lambda/subjects/exports/lease.ts';
import { type ExportMessage, exportMessage } from '../../../../lambda/subjects/exports/messages.ts';
import {
  type ExportJob,
  type ExportRequest,
  newExportJob,
} from '../../../../lambda/subjects/exports/rules/job.ts';
import {
  type ExportSettings,
  exportSettingsFor,
} from '../../../../lambda/subjects/exports/rules/settings.ts';
import { runExportStep } from '../../../../lambda/subjects/exports/steps.ts';
import type { Deps } from '../../../../local/deps.ts';
import type { Item } from '../../../../local/table/expression.ts';
import { keyOf } from '../../../../local/table/items.ts';
import { MemoryArchiveStore } from '../../memory/archive-store.ts';
import { ManualClock, memoryDeps } from '../../memory/deps.ts';
import { MemoryObjectStore } from '../../memory/object-store.ts';
import { memoryTable } from '../../memory/table.ts';
import { Random } from '../../random.ts';
import { wholeTenant as all } from './export-request.ts';
import { MemoryExportJobs } from './in-memory.ts';

/** A function died: no call of it has an effect any more. */
class KilledError extends Error {
  override readonly name = 'KilledError';
}

export interface ExportStackOptions {
  readonly kind?: 's3' | 'r2' | 'stream';
  readonly seed?: number;
  /** The store answers to copies of whole objects with their CRC-32. */
  readonly tellsCrc32?: boolean;
  readonly settings?: Partial<ExportSettings>;
  /** Parts that an upload may have. */
  readonly partsMax?: number;
  /** Uploads and parts of a page. */
  readonly pageSize?: number;
  /** Whose job is looked at. */
  readonly exportId?: string;
}

export const exportPath = { tenant: 'acme', exportId: 'first' };

/**
 * Exports in memory, with a store whose parts have 200 bytes at least, so that small objects are copied in parts. Steps run
 * one at a time and in any order, and can be killed at any call of a port.
 */
export class ExportStack {
  readonly archives: MemoryArchiveStore;
  /** Nobody waits: here only the steps of one function write at the same time. */
  readonly jobs = new MemoryExportJobs({ on: { ...memoryTable(), pauseUpTo: async () => undefined } });
  readonly clock = new ManualClock();
  readonly random: Random;
  readonly deps: Deps;
  messages: ExportMessage[] = [];
  /** Calls of ports until the next function that runs dies. */
  callsToLive = Number.POSITIVE_INFINITY;
  readonly #functions = new AsyncLocalStorage<{ callsToLive: number }>();
  calls = 0;
  kills = 0;
  #exportId: string;
  readonly #options: ExportStackOptions;

  constructor(options: ExportStackOptions = {}) {
    const { kind = 's3', seed = 1, tellsCrc32 = true, partsMax = 10_000, pageSize = 7 } = options;
    this.#options = options;
    this.#exportId = options.exportId ?? exportPath.exportId;
    this.random = new Random(seed);
    const given = exportSettingsFor(kind, { workers: 2 });
    const limits = { ...given.limits, partBytesMin: 200, partBytesMax: 100_000, partsMax };
    this.archives = new MemoryArchiveStore({
      objects: new MemoryObjectStore(),
      limits,
      tellsCrc32,
      pageSize,
    });
    const exportSettings: ExportSettings = {
      ...given,
      limits,
      // So slow that an export has many units.
      pace: { workers: 4, bytesPerSecond: 500, requestSeconds: 1, requestsAtOnce: 2 },
      plan: {
        cellBytes: 200,
        uploadBytesMax: 1024,
        copyBytesMax: 700,
        shardBytesMax: 2000,
      },
      ...options.settings,
    };
    this.archives.before = () => this.#live();
    this.deps = memoryDeps({
      objects: this.archives.objects,
      archives: this.archives,
      exportJobs: mortal(this.jobs, () => this.#live()),
      exportQueue: {
        isOn: true,
        send: async (messages) => {
          this.#live();
          this.messages.push(...messages);
          this.#live();
        },
      },
      exportSettings,
      clock: this.clock,
    });
    this.archives.after = () => this.#live();
  }

  /** A world of its own that is as this one is now. */
  copy(): ExportStack {
    const copy = new ExportStack({ ...this.#options, exportId: this.#exportId });
    copy.archives.takeFrom(this.archives);
    for (const after of this.jobs.table.store.all())
      copy.jobs.table.store.write({ key: keyOf(after), before: undefined, after });
    copy.messages.push(...this.messages);
    copy.clock.advance(this.clock.nowMs() - copy.clock.nowMs());
    return copy;
  }

  /** All from which the export goes on, as text. Times, and how much was done, are left out: no step depends on them. */
  async world(): Promise<string> {
    const { state, round, doneUnits, isTidy, failure, planned, progress, leaseUntilMs } = await this.job();
    const isNothingMade = progress.uploadedBytes === 0 && progress.copiedBytes === 0;
    const isLeased = leaseUntilMs > this.clock.nowMs();
    const job = { state, round, doneUnits, isTidy, failure, planned, isNothingMade, isLeased };
    const messages = this.messages.map((message) => JSON.stringify(message)).sort();
    return JSON.stringify({ job, messages, inventory: this.archives.inventory() });
  }

  /** Stores an object under its true oid. @returns the oid. */
  async store(repo: string, bytes: Uint8Array): Promise<string> {
    const oid = createHash('sha256').update(bytes).digest('hex');
    await this.archives.put(`acme/${repo}/${oid}`, bytes);
    return oid;
  }

  /** Stores objects of random sizes. @returns their bytes by oid. */
  async storeMany(count: number, sizeMax: number, repos = ['app']): Promise<Map<string, Uint8Array>> {
    const stored = new Map<string, Uint8Array>();
    for (let index = 0; index < count; index += 1) {
      const bytes = Buffer.alloc(this.random.int(0, sizeMax), `object ${index} `);
      const repo = repos[index % repos.length] ?? '';
      stored.set(await this.store(repo, bytes), bytes);
    }
    return stored;
  }

  /** Creates a job, as the API does, and its first message. Of a later one the last is looked at. */
  async start(request: Partial<ExportRequest> = {}, exportId = exportPath.exportId): Promise<void> {
    this.#exportId = exportId;
    const path = { ...exportPath, exportId };
    const job = newExportJob({
      ...path,
      request: { ...all, ...request },
      nowMs: this.clock.nowMs(),
      limitMs: this.deps.exportSettings.limitMs,
    });
    await this.jobs.create(job, { placesMax: 3, nowMs: this.clock.nowMs() });
    this.messages.push({ ...path, step: { kind: 'advance' } });
  }

  /** Delivers the oldest message, or a random one. One whose step throws is put back. */
  async deliver({ isRandom = false } = {}): Promise<void> {
    const index = isRandom ? this.random.int(0, this.messages.length - 1) : 0;
    const [message] = this.messages.splice(index, 1);
    if (!message) return;
    // Every step takes time.
    this.clock.advance(1_000);
    const input = { message, deadlineMs: this.clock.nowMs() + 300_000 };
    const { callsToLive } = this;
    this.callsToLive = Number.POSITIVE_INFINITY;
    try {
      await this.#functions.run({ callsToLive }, () => runExportStep(this.deps, input));
    } catch (error) {
      this.messages.push(message);
      if (!(error instanceof KilledError || error instanceof ExportBusyError)) throw error;
      if (error instanceof KilledError) this.kills += 1;
      // The queue waits, and leases end.
      this.clock.advance(61_000);
    }
  }

  /** Runs what is no part of the function that runs, and does not die with it. */
  beside<T>(run: () => Promise<T>): Promise<T> {
    return this.#functions.exit(run);
  }

  /** Delivers until no message is left. @returns the job. */
  async run(options: { isRandom?: boolean } = {}): Promise<ExportJob> {
    for (let steps = 0; this.messages.length > 0; steps += 1) {
      if (steps > 5000) throw new Error('The export does not end.');
      await this.deliver(options);
    }
    return this.job();
  }

  async job(): Promise<ExportJob> {
    const job = await this.jobs.read({ ...exportPath, exportId: this.#exportId });
    if (!job) throw new Error('There is no job.');
    return job;
  }

  /** The keys that lie below the folder of exports. */
  async left(): Promise<string[]> {
    const keys: string[] = [];
    for await (const page of this.archives.list('_exports/')) keys.push(...page);
    return keys;
  }

  /** What a function that has died still has under way has no effect either. */
  #live(): void {
    this.calls += 1;
    const running = this.#functions.getStore();
    if (!running) return;
    running.callsToLive -= 1;
    if (running.callsToLive < 0) throw new KilledError('The function died.');
  }
}

/** A stack with records, messages and files as a fixture has them. @param exportId whose job the stack looks at. */
export async function loadedStack(
  fixture: { items: Item[]; messages: ExportMessage[]; files: Readonly<Record<string, string>> },
  exportId: string,
): Promise<ExportStack> {
  const stack = new ExportStack({ exportId });
  for (const after of fixture.items)
    stack.jobs.table.store.write({ key: keyOf(after), before: undefined, after });
  for (const [key, base64] of Object.entries(fixture.files))
    await stack.archives.put(key, Buffer.from(base64, 'base64'));
  for (const message of fixture.messages) {
    const decoded = exportMessage.safeParse(message).data;
    if (decoded) stack.messages.push(decoded);
  }
  return stack;
}

/** The same records, for a function that may die before and after each call. */
function mortal(jobs: MemoryExportJobs, live: () => void): Deps['exportJobs'] {
  const dying = async <T>(call: () => Promise<T>): Promise<T> => {
    live();
    const answer = await call();
    live();
    return answer;
  };
  return {
    create: (job, options) => dying(() => jobs.create(job, options)),
    read: (path) => dying(() => jobs.read(path)),
    readSome: (input) => dying(() => jobs.readSome(input)),
    change: (path, change) => dying(() => jobs.change(path, change)),
    leavePlace: (path) => dying(() => jobs.leavePlace(path)),
    list: (input) => dying(() => jobs.list(input)),
    listDue: (input) => jobs.listDue(input),
  };
}
