import type { Ledger } from '../../lambda/core/ledger/ledger.ts';
import type { ReconcileRequest } from '../../lambda/core/ledger/rules/reconcile-policy.ts';
import { placeOf, type StoreChange } from '../../lambda/core/ledger/rules/reservation.ts';
import type { Metrics } from '../../lambda/core/rules/metrics.ts';
import { repoPrefix } from '../../lambda/core/rules/names.ts';
import { defaultSettings, type Settings } from '../../lambda/core/rules/settings.ts';
import { AdoptedRepos } from '../../lambda/core/store/rules/adopted-repos.ts';
import type { MultipartUpload } from '../../lambda/core/store/rules/archive-store.ts';
import type { UrlSigner } from '../../lambda/core/store/rules/store.ts';
import type { TableClient } from '../../lambda/core/table/table.ts';
import type { offerDownload } from '../../lambda/subjects/lfs/downloads.ts';
import { MemoryArchiveStore } from '../support/memory/archive-store.ts';
import { MemoryLedger } from '../support/memory/ledger.ts';
import { MemoryObjectStore } from '../support/memory/object-store.ts';
import { type MemoryTable, memoryTable } from '../support/memory/table.ts';
import { Random } from '../support/random.ts';
import { EndlessRunError, Scheduler } from '../support/scheduler.ts';
import type { Mix, Weather } from './actor.ts';
import type { Code } from './code.ts';
import { type Coverage, nothingYet } from './coverage.ts';
import { type AskedRemoval, Invariants, Violation } from './invariants.ts';
import { Mishaps } from './mishaps.ts';
import { fileName, oidName, repoName, tenantName } from './names.ts';
import type { SimDeps, SimPorts } from './ports.ts';
import { Processes, tableFor } from './processes.ts';
import { HastyQueue, type SimQueue } from './queues.ts';
import type { Scenario } from './scenario.ts';
import { type SqsOptions, SqsQueue } from './sqs-queue.ts';
import { type Stage, stageOf } from './stage.ts';
import { AgingStore, watchLedger } from './table.ts';
import { Truth } from './truth.ts';

/** A deliberate mistake: it changes the functions' dependencies, what the ledger does, or what it asks of the table. */
export interface Mutant {
  readonly table?: (client: TableClient) => TableClient;
  readonly ledger?: (ledger: Ledger, world: World) => Ledger;
  readonly deps?: (deps: SimPorts, world: World) => SimPorts;
  readonly sqs?: Partial<SqsOptions>;
  readonly offerDownload?: typeof offerDownload;
}

function notSimulated(): never {
  throw new Error('No subject is simulated that does this.');
}

const functionLimitMs = 25_000;
/** Kept back from the time limit of the queue's consumer. */
const consumerReserveMs = 10_000;

/** One tenant of a run. */
export interface Account {
  readonly tenant: string;
  readonly truth: Truth;
  readonly invariants: Invariants;
  /** Whether somebody declares false sizes. */
  readonly hasLies: boolean;
  readonly hasTricklers: boolean;
}

/** All parts of one run. Tenants share the ledger, the bucket, the queue and the schedule. */
export class World {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly weather: Weather = { calm: false, outages: { store: 0, table: 0, files: 0 } };
  /** By stored keys. */
  readonly store = new MemoryObjectStore();
  readonly adoptedRepos: AdoptedRepos;
  readonly accounts: readonly Account[];
  readonly settings: Settings;
  readonly coverage: Coverage = nothingYet();
  readonly mix: Mix;
  /** What a story has go wrong. */
  readonly mishaps = new Mishaps();
  readonly table: MemoryTable;
  /** The table as nobody else sees it: nothing takes time or fails. */
  readonly ledger: MemoryLedger;
  /** Files beside what tenants store, and what objects are made of, in the same bucket. */
  readonly archives = new MemoryArchiveStore({
    objects: this.store,
    limits: { partBytesMin: 1, wantsEqualParts: true },
  });
  /** What a subject's simulation does when a function sends its jobs, or makes an object of parts. */
  sendJobs: (port: string, jobs: readonly object[]) => void = notSimulated;
  onCreated: (upload: MultipartUpload) => void = notSimulated;
  onMade: (upload: MultipartUpload) => Promise<void> = notSimulated;
  onAborted: (upload: MultipartUpload) => void = () => undefined;
  /** What subjects check when a function removes what was asked to be deleted. */
  checkRemoval: (removal: AskedRemoval) => void = () => undefined;
  readonly downloadLimitBytes: Stage['downloadLimitBytes'];
  /** Its own random source, so that it does not change other choices. */
  readonly #putTimes: Random;
  readonly #processes: Processes;
  /** oid → true bytes. */
  readonly #sizes: ReadonlyMap<string, number>;
  readonly #store: AgingStore;
  readonly #pageSize: number;
  readonly #mutant: Mutant;
  readonly #hasStoreEvents: boolean;
  /** The number of invocations that have not ended, with those that nobody waits for. */
  running = 0;
  #failure: unknown;
  readonly #queue: SimQueue;
  readonly offerDownload: typeof offerDownload | undefined;
  /** Whether reconciles wait in SQS, as they do when deployed. */
  readonly isSqs: boolean;
  readonly scheduleMs: number;
  /** When the schedule comes first: once all of a scenario's actions have begun. */
  scheduledFromMs = Number.POSITIVE_INFINITY;
  readonly repoLimits: Stage['repoLimits'];
  readonly isSlow: boolean;
  readonly areFilesLost: boolean;
  readonly makers: number;
  readonly filesRepos: Stage['filesRepos'];
  readonly findsFiles: boolean;
  readonly inParts: boolean;
  readonly cancelsAfterMs: Stage['cancelsAfterMs'];
  /** Whether repos of a few objects are large repos. */
  readonly hasLargeRepos: boolean;

  constructor(input: {
    seed: number;
    mix: Mix;
    sizes: readonly number[];
    /** oid → true bytes, if the oids are not those of `sizes`. */
    objects?: ReadonlyMap<string, number>;
    tenants: readonly { hasLies: boolean }[];
    mutant?: Mutant;
    table?: Scenario['table'];
    /** What the stage is like. Default: drawn by the seed. */
    stage?: Stage;
    /** Of another version, of which half of the functions are. */
    other?: Code;
  }) {
    this.random = new Random(input.seed);
    this.#putTimes = new Random(input.seed ^ 0x9_07);
    this.scheduler = new Scheduler(this.random);
    this.#processes = new Processes(input.seed, input.other);
    this.mix = input.mix;
    const stage = input.stage ?? stageOf(input.seed);
    const sized = input.sizes.flatMap((size, index) =>
      [oidName, fileName].map((name) => [name(index), size] as const),
    );
    this.#sizes = input.objects ?? new Map(sized);
    // The grace time is short enough to overlap with other actions, and longer than a batch can take.
    this.settings = {
      ...defaultSettings,
      deleteGraceMs: 90_000,
      // Shorter than a day, so that more happens while it is open. Longer than a batch.
      gcWatchMs: 15 * 60_000,
      gcLimitMs: 12 * 60 * 60_000,
      ...stage.settings,
    };
    this.adoptedRepos = new AdoptedRepos(stage.adoptedRepos);
    this.#hideOthers(stage.adoptedRepos);
    const store: Truth['store'] = {
      put: (key, ...object) => this.store.put(this.#storedKey(key), ...object),
      delete: (keys) => this.store.delete(keys.map((key) => this.#storedKey(key))),
    };
    this.#mutant = input.mutant ?? {};
    this.offerDownload = this.#mutant.offerDownload;
    this.#hasStoreEvents = stage.hasStoreEvents;
    const { pageSize = 2, ...limits } = input.table ?? {};
    this.#pageSize = pageSize;
    this.#store = new AgingStore({
      isStale: () => this.random.chance(0.5),
      onStaleRead: () => {
        this.coverage.staleReads += 1;
      },
    });
    this.table = memoryTable(limits, this.#store);
    this.ledger = new MemoryLedger({ on: this.table });
    watchLedger(this.#store, {
      onIssue: (tenant, issued) => this.account(tenant).truth.promise(issued),
      onOpening: ({ tenant, repo }) =>
        this.account(tenant).invariants.noteOpening(repo, this.scheduler.nowMs),
    });
    this.accounts = input.tenants.map(({ hasLies }, index) => {
      const truth = new Truth({
        tenant: tenantName(index),
        ledger: this.ledger,
        store,
        settings: this.settings,
        files: input.other ? [] : stage.filesRepos.map(repoName),
      });
      // The others are promised everything beside them.
      const trickles = index === 0 && stage.hasTricklers;
      const invariants = new Invariants(truth, {
        hasTricklers: trickles,
        hasOthers: input.other !== undefined,
      });
      return { tenant: truth.tenant, truth, invariants, hasLies, hasTricklers: trickles };
    });
    this.downloadLimitBytes = stage.downloadLimitBytes;
    this.hasLargeRepos = this.settings.largeRepoObjects < 10;
    this.scheduleMs = stage.scheduleMinutes * 60_000;
    this.repoLimits = stage.repoLimits;
    this.isSlow = stage.isSlow;
    this.areFilesLost = stage.areFilesLost;
    this.makers = stage.makers;
    // The last release knows of none.
    this.filesRepos = input.other ? [] : stage.filesRepos;
    this.findsFiles = stage.findsFiles;
    this.inParts = !input.other && stage.inParts;
    this.cancelsAfterMs = stage.cancelsAfterMs;
    const { attemptsMax } = stage;
    this.isSqs = attemptsMax !== undefined;
    this.#queue = this.#queueOf(attemptsMax);
  }

  #storedKey(key: string): string {
    const storedKey = this.adoptedRepos.storedKey(key);
    if (storedKey === undefined) throw new Error(`Nothing can be stored at ${key}.`);
    return storedKey;
  }

  /** What nobody may count or delete: it is of the other server, or lies at the own path of an adopted repo. */
  #hideOthers(repos: Stage['adoptedRepos']): void {
    for (const repo of repos)
      for (const key of ['.tmp', '00/tmp', '01/01/x/y', 'f.gz', 'zz'].map((name) => repo.path + name))
        this.store.put(key, 1_000);
    for (const repo of repos) this.store.put(repoPrefix(repo) + oidName(1), 1_000);
  }

  #queueOf(attemptsMax: number | undefined): SimQueue {
    const { scheduler, random, weather, coverage, settings } = this;
    const queueWorld = {
      scheduler,
      random,
      weather,
      coverage,
      fail: (error: unknown) => this.fail(error),
      deliver: this.#deliver.bind(this),
    };
    if (attemptsMax === undefined) return new HastyQueue(queueWorld);
    const { clockSkewMs } = settings;
    return new SqsQueue(queueWorld, { attemptsMax, clockSkewMs, ...this.#mutant.sqs });
  }

  /** The indexes show each tenant as it is, or as it was now. */
  ageIndexes(): void {
    this.#store.ageIndexes();
  }

  /** @throws if there is no such tenant. */
  account(tenant: string): Account {
    const found = this.accounts.find((account) => account.tenant === tenant);
    if (!found) throw new Error(`There is no tenant ${tenant}.`);
    return found;
  }

  /**
   * Whether nothing fails, dies or takes long, and nothing has so far, but the service's own files: then all that is promised
   * comes soon.
   */
  isFair(): boolean {
    const { fail, lostAnswer, twice, late, freeze, kill } = this.mix;
    const faults = fail + lostAnswer + twice + late + freeze + kill;
    const { outages, unacknowledged } = this.coverage;
    return faults === 0 && !this.isSlow && outages + unacknowledged === 0;
  }

  sizeOf(oid: string): number {
    return this.#sizes.get(oid) ?? 0;
  }

  /** Ends the run at the next step. */
  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** @param eventsMax a schedule of a minute goes on through outages of days, and large repos are counted in many steps. */
  async run(
    eventsMax = this.scheduleMs < 5 * 60_000 || this.hasLargeRepos ? 500_000 : 100_000,
  ): Promise<void> {
    const check = () => {
      if (this.#failure) throw this.#failure;
      for (const { invariants } of this.accounts) invariants.check(this.scheduler.nowMs);
    };
    await this.scheduler.run({ eventsMax, check }).catch((error: unknown) => {
      throw error instanceof EndlessRunError ? new Violation(`I6: ${error.message}`) : error;
    });
  }

  /** Starts a task. If it throws, the run ends. */
  start(delayMs: number, task: () => Promise<void>): void {
    this.scheduler.after(delayMs, () => {
      task().catch((error: unknown) => this.fail(error));
    });
  }

  remove(key: string): void {
    // A file of the service's own.
    if (key.startsWith('_')) return void this.archives.delete([key]);
    const tenant = key.slice(0, key.indexOf('/'));
    const { truth, invariants } = this.account(tenant);
    this.coverage.deletes += 1;
    invariants.checkRemoval(key, { nowMs: this.scheduler.nowMs, check: this.checkRemoval });
    void this.store.delete([this.#storedKey(key)]);
    truth.remove(key, this.scheduler.nowMs);
    const place = placeOf(key);
    if (place) this.#notify({ ...place, kind: 'removed', atMs: this.scheduler.nowMs });
  }

  /** Puts 0 bytes in the place of an object. @param onlyNew unless there is one. */
  putEmpty(key: string, { mark, onlyNew }: { mark: string; onlyNew: boolean }): 'put' | 'taken' {
    const place = placeOf(key);
    if (!place) throw new Violation(`${key} is made empty, which is of no repo.`);
    const { tenant, repo, name } = place;
    const { truth, invariants } = this.account(tenant);
    const { nowMs } = this.scheduler;
    if (truth.stored.has(`${repo}/${name}`)) {
      if (onlyNew) return 'taken';
      invariants.checkRemoval(key, { nowMs, check: this.checkRemoval });
      truth.remove(key, nowMs);
    }
    this.coverage.emptied += 1;
    this.land({ tenant, repo, oid: name, sizeBytes: 0, beganMs: nowMs, mark });
    return 'put';
  }

  /** An upload ends. The store says that it was put when its PUT began, or ended, in whole seconds. */
  land(object: {
    tenant: string;
    repo: string;
    oid: string;
    sizeBytes: number;
    beganMs: number;
    /** Of an empty object. */
    mark?: string;
  }): void {
    const { tenant, repo, oid: name, sizeBytes } = object;
    const { nowMs } = this.scheduler;
    const putMs = this.#putTimes.chance(0.5) ? object.beganMs : nowMs;
    const lastModifiedMs = putMs - (putMs % 1000);
    this.account(tenant).truth.land({ ...object, lastModifiedMs }, nowMs);
    this.#notify({ tenant, repo, name, sizeBytes, kind: 'created', atMs: this.scheduler.nowMs });
  }

  /** Somebody puts an object straight into the bucket, or removes one. @param change.sizeBytes undefined: removed. */
  changeAround(tenant: string, change: { name: string; sizeBytes?: number }): void {
    const { truth, invariants } = this.account(tenant);
    const { name, sizeBytes } = change;
    const atMs = this.scheduler.nowMs;
    const place = placeOf(`${tenant}/${name}`);
    // Nobody notes what changes in a repo that is being deleted.
    const isNoted = this.#hasStoreEvents && place !== undefined && !invariants.mayBeClosed(place.repo);
    if (!truth.changeAround({ ...change, isNoted }, atMs)) return;
    this.coverage.around += 1;
    if (place)
      this.#notify({
        ...place,
        atMs,
        ...(sizeBytes === undefined ? { kind: 'removed' } : { kind: 'created', sizeBytes }),
      });
  }

  /** Delivers an event of the store once or twice, in any order, and again until a function has handled it. */
  #notify(change: StoreChange): void {
    if (!this.#hasStoreEvents) return;
    for (let copies = this.random.chance(0.1) ? 2 : 1; copies > 0; copies -= 1) {
      const delayMs = this.random.chance(0.8) ? this.random.int(0, 30_000) : this.random.int(0, 600_000);
      this.start(delayMs, async () => {
        this.coverage.told += 1;
        const handle = () =>
          this.invoke((deps, its) =>
            its.recordStoreEvents(deps, { tenant: change.tenant, changes: [change] }),
          );
        while (typeof (await handle()) !== 'object') await this.wait(this.random.int(1_000, 60_000));
      });
    }
  }

  /** Waits like a client, which nothing kills or freezes. */
  wait(durationMs: number): Promise<void> {
    return new Promise((resolve) => this.scheduler.after(durationMs, resolve));
  }

  /**
   * Invokes a function.
   *
   * @param options.mayOutlive whether it may go on unseen after its time limit, as a frozen function does. A function
   * whose writes are valid for a limited time only may not.
   * @param options.waitsOn whether the caller may still get the answer of one that goes on.
   * @returns `dead` if it died or reached its time limit, `error` if a port was unavailable.
   */
  invoke<T>(
    run: (deps: SimDeps, code: Code) => Promise<T>,
    { limitMs = functionLimitMs, mayOutlive = true, waitsOn = false, isConsumer = false } = {},
  ): Promise<{ answer: T } | 'error' | 'dead'> {
    const { code: its, knownObjects } = this.#processes.next();
    const { table: mutantTable } = this.#mutant;
    const actor = new its.Actor({ ...this, tally: this.coverage });
    const signer: UrlSigner = {
      signUpload: async ({ key, oid, onlyNew, part, sizeBytes, signedAtMs, lifetimeMs }) => ({
        href: JSON.stringify({ key, oid, onlyNew, part, sizeBytes, expiresAtMs: signedAtMs + lifetimeMs }),
        header: {},
      }),
      signDownload: async () => ({ href: '', header: {} }),
    };
    const prepare = (request: ReconcileRequest) =>
      this.#queue.prepare(request, { clockMs: actor.nowMs(), isConsumer });
    const metrics: Metrics = {
      increment: (name) => {
        if (name === 'ReconcilesDeferred') this.coverage.deferred += 1;
      },
      measure: () => undefined,
      flush: () => undefined,
    };
    const made = its.depsOf(actor, {
      ...this,
      table: { ...this.table, client: tableFor(its, mutantTable?.(this.table.client) ?? this.table.client) },
      knownObjects,
      signer,
      prepare,
      metrics,
      pageSize: this.#pageSize,
      keysPerPage: 3,
      remove: (key) => this.remove(key),
      putEmpty: (key, how) => this.putEmpty(key, how),
      fail: (error) => this.fail(error),
      later: (withinMs, then) => this.scheduler.after(this.random.int(0, Math.max(0, withinMs)), then),
    });
    const mutated = this.#mutant.ledger ? { ...made, ledger: this.#mutant.ledger(made.ledger, this) } : made;
    const ports = this.#mutant.deps?.(mutated, this) ?? mutated;
    // The last release's has no seams.
    const deps = 'bound' in its ? its.bound(ports) : (ports as SimDeps);
    this.running += 1;
    let ended = false;
    const end = () => {
      if (!ended) this.running -= 1;
      ended = true;
    };
    return new Promise((resolve) => {
      let isOverdue = false;
      actor.onDeath = () => {
        end();
        if (isOverdue) resolve('dead');
      };
      this.scheduler.after(limitMs, () => {
        isOverdue = true;
        if (!ended && (!mayOutlive || this.mix.freeze === 0 || this.random.chance(0.5))) actor.kill();
        if (ended || !waitsOn || this.random.chance(0.5)) resolve('dead');
      });
      run(deps, its).then(
        (answer) => {
          end();
          resolve({ answer });
        },
        (error: unknown) => {
          end();
          if (error instanceof Error && /UnavailableError$/.test(error.name)) resolve('error');
          else this.fail(error);
        },
      );
    });
  }

  /** Somebody asks for a reconcile, by a clock that is right. */
  enqueue(request: ReconcileRequest): void {
    this.#queue.prepare(request, { clockMs: this.scheduler.nowMs, isConsumer: false })();
  }

  /** The operator sends the dead letters back. */
  redrive(): void {
    this.#queue.redrive();
  }

  async #deliver(
    request: ReconcileRequest,
    { receiveCount, limitMs }: { receiveCount: number; limitMs: number },
  ): Promise<'done' | 'failed' | 'died'> {
    const outcome = await this.consume(request, { isRetry: receiveCount > 1, limitMs });
    if (typeof outcome === 'object') return 'done';
    return outcome === 'error' ? 'failed' : 'died';
  }

  /** What the queue's consumer does with one message (`lambda/frame/work/reconcile.ts`). */
  async consume(
    request: ReconcileRequest,
    { isRetry = false, limitMs = 300_000 } = {},
  ): Promise<{ answer: 'done' | 'requeued' } | 'error' | 'dead'> {
    this.coverage.reconciles += 1;
    const consumed = this.invoke(
      async (deps, its) => {
        const deadlineMs = deps.clock.nowMs() + limitMs - consumerReserveMs;
        const outcome = await its.runReconcile(deps, { request, deadlineMs, isRetry });
        if (outcome === 'requeued') this.coverage.requeued += 1;
        return outcome;
      },
      { limitMs, isConsumer: true },
    );
    const outcome = await consumed;
    if (outcome === 'error' && this.isFair())
      throw new Violation('I6: a reconcile failed, and it needs no files');
    return outcome;
  }
}
