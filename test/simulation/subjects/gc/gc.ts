import { refresh } from '../../../../lambda/core/ledger/reconcile-requests.ts';
import { unconfirmedForMs } from '../../../../lambda/core/ledger/rules/reservation.ts';
import { sha256Hex } from '../../../../lambda/core/rules/hash.ts';
import { prefixesOf } from '../../../../lambda/core/rules/prefix-set.ts';
import { createTenant } from '../../../../lambda/frame/access/tenants.ts';
import { openGc, signReachableSet, startRun } from '../../../../lambda/subjects/gc/gc.ts';
import { createDynamoDbGcRuns } from '../../../../lambda/subjects/gc/gc-store.ts';
import {
  type GcFailure,
  isUnderWay,
  reachableSetKey,
  snapshotFromMs,
} from '../../../../lambda/subjects/gc/rules/gc.ts';
import { Random } from '../../../support/random.ts';
import { Violation } from '../../invariants.ts';
import { faultMixes } from '../../mixes.ts';
import { oidName, repoName, tenantName } from '../../names.ts';
import { askOnce, send } from '../../push.ts';
import { checkRest } from '../../rest.ts';
import { stageOf } from '../../stage.ts';
import { TenantWorld } from '../../tenant-world.ts';
import { type Mutant, World } from '../../world.ts';

const minute = 60_000;
const objectCount = 48;
/** Of the objects, those that are named most of the time. The others are old content. */
const hotCount = 10;
/** What is there from the beginning. */
const oldCount = 40;
const repo = repoName(0);
/** Shorter than a day, so that more happens while it is open. Longer than a push. */
const watchMs = 15 * minute;
/** A push that takes longer gives up, and moves no ref. */
const pushMaxMs = 12 * minute;
const rounds = 2;
const pushersCount = 2;
/** Pushes of old content while a run is under way, and in how much time. */
const burstCount = 16;
const burstMs = 2 * minute;
/** Time for a run, with all that goes wrong: in SQS each function that dies keeps its tenant back for half an hour. */
const runMaxMs = 30 * 60 * minute;

/** A mistake of those who clean up, or of the functions. */
export interface GcMutant extends Mutant {
  /** The clone is looked at before the watch is opened. */
  readonly isSnapshotFirst?: boolean;
  /** The rule overlooks a branch. */
  readonly forgetsTip?: boolean;
}

/** What happened. */
interface GcCoverage {
  pushes: number;
  /** Objects that pushes named and that were stored, or deleted, already. */
  renamed: number;
  runs: number;
  deleted: number;
  /** Runs whose files were spoiled. */
  spoiled: number;
  lateWrites: number;
  kills: number;
}

/**
 * A history of a repo: people push, force-push and delete refs, and name old content again, while somebody cleans up twice.
 * I9: what a ref needs is there at any time, when a push moves it, and whenever something is deleted. Nothing that a tip needs
 * at the run, and nothing named since the watch began, is deleted. What refs had before is what a rule frees.
 *
 * @throws {Violation}
 */
export async function runGc(seed: number, mutant: GcMutant = {}): Promise<GcCoverage> {
  const mix = faultMixes[seed % faultMixes.length];
  if (!mix) throw new Error('There is no mix.');
  const stage = stageOf(seed);
  const settings = {
    ...stage.settings,
    gcWatchMs: watchMs,
    gcLimitMs: 72 * 60 * minute,
    // In most, candidates are chosen while people push: a run doesn't wait for the budget.
    ...(seed % 4 !== 3 && { listRequestsPerHour: 1_000_000 }),
  };
  const world = new World({
    seed,
    mix,
    sizes: Array.from({ length: objectCount }, (_, index) => 1 + (index % 7)),
    tenants: [{ hasLies: false }],
    mutant,
    // With fewer, a read of all that batches noted hardly ever succeeds when every twentieth page fails.
    table: { pageSize: 20 },
    stage: {
      ...stage,
      settings,
      hasTricklers: false,
      hasStoreEvents: false,
      scheduleMinutes: 1,
      // Where many operations fail, too, a run takes days.
      isSlow: mix.fail === 0 && seed % 12 < 6,
      areFilesLost: false,
    },
  });
  const history = new History(world, mutant);
  world.start(0, () => history.play());
  await world.run();
  return { ...history.coverage, lateWrites: world.coverage.lateWrites, kills: world.coverage.kills };
}

class History {
  readonly coverage = { pushes: 0, renamed: 0, runs: 0, deleted: 0, spoiled: 0 };
  readonly #world: World;
  readonly #tenant: TenantWorld;
  readonly #mutant: GcMutant;
  /** What people do has its own random source. */
  readonly #random: Random;
  /** Ref → the objects to which its commits point. */
  readonly #refs = new Map<string, ReadonlySet<number>>();
  #isPushing = true;
  #isScheduled = true;

  constructor(world: World, mutant: GcMutant) {
    this.#world = world;
    this.#mutant = mutant;
    this.#random = new Random(world.random.uint32());
    const [account] = world.accounts;
    if (!account) throw new Error('There is no tenant.');
    this.#tenant = new TenantWorld(world, account);
    const remove = world.remove.bind(world);
    world.remove = (key) => {
      this.#checkRemoval(key);
      remove(key);
    };
  }

  async play(): Promise<void> {
    const world = this.#world;
    await this.#create();
    world.start(0, () => this.#schedule());
    const pushers = Array.from({ length: pushersCount }, (_, index) => this.#pushAll(`branch-${index}`));
    for (let round = 0; round < rounds; round += 1) await this.#cleanUp();
    this.#isPushing = false;
    await Promise.all(pushers);
    world.weather.calm = true;
    do await world.wait(90 * minute);
    while (world.running > 0);
    await world.wait(Math.max(unconfirmedForMs, 72 * 60 * minute) + 90 * minute);
    // What a function wrote late that was frozen until then goes with the next gc run.
    await this.#cleanUp();
    await world.wait(72 * 60 * minute);
    this.#isScheduled = false;
    await world.wait(2 * minute);
    for (const ref of this.#refs.keys()) this.#checkRef(ref);
    await this.#checkEnded();
    await checkRest(this.#tenant);
  }

  /** Some objects are there before the tenant is. Some of them a ref needs. */
  async #create(): Promise<void> {
    const world = this.#world;
    const { tenant } = this.#tenant;
    for (let object = 0; object < oldCount; object += 1)
      world.land({
        tenant,
        repo,
        oid: oidName(object),
        ...this.#sizeOf(object),
        beganMs: world.scheduler.nowMs,
      });
    this.#refs.set('main', new Set([0, 1, 2]));
    for (;;) {
      const made = await world.invoke((deps) => createTenant(deps, { tenant, plan: null, limitBytes: null }));
      if (typeof made === 'object') break;
      await world.wait(1000);
    }
    world.weather.calm = true;
    for (let run = 0; run < 2; run += 1) await world.consume({ tenant, reason: 'manual', full: true });
    world.weather.calm = false;
  }

  async #schedule(): Promise<void> {
    const world = this.#world;
    while (this.#isScheduled) {
      await world.wait(this.#isPushing ? world.scheduleMs : 15 * minute);
      await world.invoke((deps) => refresh(deps), { limitMs: 300_000 });
    }
  }

  /** One person, who pushes to one branch. */
  async #pushAll(branch: string): Promise<void> {
    const { wait } = this.#tenant;
    while (this.#isPushing) {
      await wait(this.#random.int(5_000, 90_000));
      const now = this.#refs.get(branch) ?? new Set<number>();
      const isRewrite = this.#random.chance(0.5);
      if (isRewrite && this.#random.chance(0.3)) {
        this.#refs.delete(branch);
        continue;
      }
      const named = Array.from({ length: this.#random.int(1, 2) }, () =>
        this.#random.chance(0.6) ? this.#random.int(0, hotCount - 1) : this.#oldContent(),
      );
      const kept = [...now].filter(() => !isRewrite || this.#random.chance(0.3));
      await this.#push(branch, { named, needed: new Set([...kept, ...named]) });
    }
  }

  /** Asks for the objects of the new commits, sends those that are missing, and then moves the ref. */
  async #push(
    branch: string,
    { named, needed }: { named: readonly number[]; needed: ReadonlySet<number> },
  ): Promise<void> {
    const world = this.#tenant;
    const { scheduler, settings } = world;
    const beganMs = scheduler.nowMs;
    const objects = new Map(named.map((object) => [oidName(object), this.#sizeOf(object).sizeBytes]));
    for (let attempt = 0; attempt < 8; attempt += 1) {
      const askedMs = scheduler.nowMs;
      const verdicts = await askOnce(world, { repo, objects });
      // Nobody gets the answer of a function whose time is over.
      const isUnconfirmed = scheduler.nowMs > askedMs + settings.batchTimeLimitMs;
      if (verdicts === 'absent') return;
      if (verdicts === 'error' || isUnconfirmed) {
        await world.wait(this.#random.int(500, 5_000));
        continue;
      }
      if (!(verdicts instanceof Map)) {
        await world.wait(typeof verdicts === 'number' ? verdicts : 60_000);
        continue;
      }
      const sent = await Promise.all(
        [...verdicts].map(async ([oid, verdict]) => {
          if (verdict.kind === 'stored') this.coverage.renamed += 1;
          if (verdict.kind !== 'upload') return verdict.kind === 'stored';
          return send(world, { repo, oid, plan: 'at-once', href: verdict.put.href });
        }),
      );
      // Other batches of the same push take a while.
      if (this.#random.chance(0.5)) await world.wait(this.#random.int(0, 5 * minute));
      if (sent.includes(false) || scheduler.nowMs > beganMs + pushMaxMs) return;
      this.coverage.pushes += 1;
      this.#refs.set(branch, needed);
      this.#checkRef(branch);
      return;
    }
  }

  /**
   * An older set that lands late, or a function that goes on hours later, may spoil the files of a run. It fails then, and
   * somebody asks for it again: once in a history.
   */
  async #cleanUp(): Promise<void> {
    for (;;) {
      const failure = await this.#run();
      if (!failure) return;
      const { reason } = failure;
      const isSpoiled =
        reason === 'no-candidates' || (reason === 'no-reachable-set' && this.coverage.runs > 1);
      if (!isSpoiled || this.#world.weather.calm || this.coverage.spoiled > 0)
        throw new Violation(`I8: a gc run failed: ${reason}`);
      this.coverage.spoiled += 1;
    }
  }

  /** @returns why it failed. */
  async #run(): Promise<GcFailure | undefined> {
    const world = this.#tenant;
    const { tenant } = world;
    await world.wait(this.#random.int(1, 10) * minute);
    const early = this.#mutant.isSnapshotFirst ? this.#snapshot() : undefined;
    if (early) await world.wait(this.#random.int(1, 10) * minute);
    const gc = await this.#untilAnswered(async () => {
      const opened = await world.invoke((deps) => openGc(deps, { tenant, repo }), { mayOutlive: false });
      return typeof opened === 'object' && opened.answer.kind === 'open' ? opened.answer.gc : undefined;
    });
    const fromMs = snapshotFromMs(gc, world.settings) + 2 * world.settings.clockSkewMs;
    await world.wait(Math.max(0, fromMs - world.scheduler.nowMs));
    const keep = early ?? this.#snapshot();
    const bytes = prefixesOf([...keep].map(oidName));
    const reachableSha256 = sha256Hex(bytes);
    const set = { tenant, repo, reachableCount: keep.size, reachableSha256 };
    await this.#untilAnswered(async () => {
      const signed = await world.invoke((deps) => signReachableSet(deps, set));
      return typeof signed === 'object' && signed.answer.kind === 'signed' ? true : undefined;
    });
    const put = () => this.#world.archives.put(reachableSetKey({ tenant, repo }), bytes);
    await put();
    // It's sent again as long as its URL lives, whatever has become of the run.
    if (this.#random.chance(0.5)) this.#world.start(this.#random.int(0, world.settings.urlLifetimeMs), put);
    await world.wait(this.#random.int(0, 6 * minute));
    const minAgeMs = this.#random.pick([0, 0, 10 * minute]);
    const isDryRun = this.#random.chance(0.2);
    const wish = { reachableCount: keep.size, reachableSha256, isDryRun, isForced: true, minAgeMs };
    await this.#untilAnswered(async () => {
      const run = { tenant, repo, ...wish };
      const begun = await world.invoke((deps) => startRun(deps, run));
      return typeof begun === 'object' && begun.answer.kind !== 'too-early' ? true : undefined;
    });
    this.coverage.runs += 1;
    for (let index = 0; index < burstCount; index += 1)
      this.#world.start(this.#random.int(0, burstMs), () => {
        const named = [this.#oldContent()];
        return this.#push(`burst-${index}`, { named, needed: new Set(named) });
      });
    const gcRuns = createDynamoDbGcRuns(world.truth.ledger.table);
    const endMs = world.scheduler.nowMs + runMaxMs;
    for (;;) {
      const now = await gcRuns.read({ tenant, repo });
      if (!now || !isUnderWay(now)) return undefined;
      if (now.state === 'watching') return now.failure ?? undefined;
      if (world.scheduler.nowMs > endMs) throw new Violation(`I8: a gc run does not end: ${now.state}`);
      await world.wait(30_000);
    }
  }

  /** What the tips of a clone need now, by the strictest rule. The deletion of everything else is asked for now. */
  #snapshot(): ReadonlySet<number> {
    const tips = [...this.#refs.values()].slice(this.#mutant.forgetsTip ? 1 : 0);
    const keep = new Set(tips.flatMap((objects) => [...objects]));
    const { invariants, scheduler } = this.#tenant;
    for (let object = 0; object < objectCount; object += 1)
      if (!keep.has(object)) invariants.requestDeletion({ repo, oid: oidName(object) }, scheduler.nowMs);
    return keep;
  }

  async #untilAnswered<T>(ask: () => Promise<T | undefined>): Promise<T> {
    for (let attempt = 0; attempt < 200; attempt += 1) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      await this.#tenant.wait(this.#random.int(1_000, 20_000));
    }
    throw new Violation('I6: a gc run is not answered');
  }

  #oldContent(): number {
    return this.#random.int(hotCount, objectCount - 1);
  }

  #sizeOf(object: number): { sizeBytes: number } {
    return { sizeBytes: this.#world.sizeOf(oidName(object)) };
  }

  #checkRef(ref: string): void {
    for (const object of this.#refs.get(ref) ?? [])
      if (!this.#tenant.truth.stored.has(`${repo}/${oidName(object)}`))
        throw new Violation(`I9: ${ref} needs object ${object}, which is gone`);
  }

  #checkRemoval(key: string): void {
    if (!this.#tenant.truth.stored.has(key.slice(tenantName(0).length + 1))) return;
    this.coverage.deleted += 1;
    for (const [ref, objects] of this.#refs)
      for (const object of objects)
        if (key === `${tenantName(0)}/${repo}/${oidName(object)}`)
          throw new Violation(`I9: object ${object} was deleted, and ${ref} needs it`);
  }

  /** Nothing of it is left to be done, and batches note nothing more. */
  async #checkEnded(): Promise<void> {
    const { tenant, truth } = this.#tenant;
    const gc = await createDynamoDbGcRuns(truth.ledger.table).read({ tenant, repo });
    const record = await truth.ledger.readRepo({ tenant, repo });
    if (gc && (isUnderWay(gc) || gc.dueAtMs !== null || record?.watch))
      throw new Violation(`I8: a gc run is left ${gc.state}, due at ${gc.dueAtMs}`);
    for await (const keys of this.#world.archives.list('_gc/'))
      if (keys.length > 0) throw new Violation(`I8: files of a gc run are left: ${keys.join(', ')}`);
  }
}
