import { unconfirmedForMs } from '../../../../lambda/core/ledger/rules/reservation.ts';
import { UploadGoneError } from '../../../../lambda/core/store/rules/archive-store.ts';
import { StoreUnavailableError } from '../../../../lambda/core/store/rules/store.ts';
import { expiryAttribute } from '../../../../lambda/core/table/table.ts';
import * as stores from '../../../../lambda/lists/stores.ts';
import type { ChunkMessage } from '../../../../lambda/subjects/chunks/messages.ts';
import { claimedForMs } from '../../../../lambda/subjects/chunks/rules/upload.ts';
import { Sha256 } from '../../../../lambda/subjects/chunks/sha256.ts';
import { Random } from '../../../support/random.ts';
import { tokenRecord } from '../../../support/token-record.ts';
import { act } from '../../act.ts';
import { collectGarbage } from '../../act-beside.ts';
import type { Mix } from '../../actor.ts';
import type { Code } from '../../code.ts';
import type { Coverage } from '../../coverage.ts';
import { Violation } from '../../invariants.ts';
import { faultMixes } from '../../mixes.ts';
import { repoName, tenantName } from '../../names.ts';
import type { SimDeps } from '../../ports.ts';
import { checkRest } from '../../rest.ts';
import { stageOf } from '../../stage.ts';
import { TenantWorld } from '../../tenant-world.ts';
import { type Mutant, World } from '../../world.ts';
import { ChunkAgent, type Errand, type Way } from './chunk-agent.ts';
import {
  type Content,
  chunkBytes,
  chunkedAboveBytes,
  forgedContent,
  smallContent,
  trueContent,
} from './chunk-contents.ts';
import { ChunkQueueSim } from './chunk-queue.ts';
import { ChunkWatch } from './chunk-watch.ts';
import { its } from './version.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The time limit of the function that proves, assembles and tidies up. */
const workerLimitMs = 15 * minute;
/** Kept back from it. */
const workerReserveMs = 2 * minute;
/** A little longer than a claim is kept. */
const restMaxMs = 9 * day;
const agentsMax = 5;

/** Six mixes of faults as elsewhere, and one of a store whose answers are lost. */
export const mixes: readonly Mix[] = [
  ...faultMixes,
  {
    name: 'a store whose answers are lost',
    fail: 0.01,
    lostAnswer: 0.1,
    twice: 0.05,
    late: 0.1,
    freeze: 0.01,
    kill: 0.1,
    skewMs: 2_000,
  },
];

const ways: readonly Way[] = [
  'lies-about-states',
  'swaps',
  'sends-another',
  'comes-late',
  'leaves',
  'replaces',
  'plain',
];

/**
 * People upload large objects in chunks, some honestly, while others do all that they can to store something else, or more than
 * their limit, and functions die.
 *
 * @throws {Violation}
 */
export async function run(seed: number, mutant: Mutant = {}): Promise<Coverage & ChunkWatch['counts']> {
  const mix = mixes[seed % mixes.length];
  if (!mix) throw new Error('There is no mix.');
  const random = new Random(seed ^ 0xc4_04);
  const trueOnes: Content[] = [];
  for (let count = random.int(1, 3); count > 0; count -= 1) trueOnes.push(await trueContent(random));
  const small = await smallContent(random);
  const forged = [await forgedContent(random), await forgedContent(random)];
  const usual = stageOf(seed);
  const world = new World({
    seed,
    mix,
    sizes: [],
    objects: new Map([...trueOnes, ...forged, small].map(({ oid, bytes }) => [oid, bytes.length])),
    tenants: [{ hasLies: false }],
    mutant,
    table: { pageSize: 20 },
    stage: {
      ...usual,
      settings: {
        ...usual.settings,
        chunkBytes,
        chunkedAboveBytes,
        putMinBytesPerSecond: random.pick([16 * 1024, 0.1]),
      },
      hasTricklers: false,
      areFilesLost: false,
      cancelsAfterMs: [],
      repoLimits: [],
      makers: 2,
    },
  });
  const chunkRun = new ChunkRun({ world, random, trueOnes, forged, small });
  world.start(0, () => chunkRun.play());
  // Agents ask for hours where batches of others that failed take up the last room until they are voided.
  await world.run(500_000);
  return { ...world.coverage, ...chunkRun.watch.counts };
}

const createSha256 = Sha256.create;

/** While Node makes a hash, which takes it longer than a microtask. */
function clockStandsStill({ scheduler }: World): void {
  Sha256.create = async (...args) => {
    scheduler.outside += 1;
    try {
      return await createSha256.apply(Sha256, args);
    } finally {
      scheduler.outside -= 1;
    }
  };
}

const tokenIdOfMaker = (maker: number) => `token-${maker}`;

class ChunkRun {
  readonly watch: ChunkWatch;
  readonly #world: World;
  readonly #tenant: TenantWorld;
  readonly #random: Random;
  readonly #trueOnes: readonly Content[];
  readonly #forged: readonly Content[];
  /** One that fits into one PUT. */
  readonly #small: Content;
  readonly #errands: Errand[] = [];
  #intervalMs: number | undefined;

  constructor(input: {
    world: World;
    random: Random;
    trueOnes: readonly Content[];
    forged: readonly Content[];
    small: Content;
  }) {
    const { world } = input;
    this.#world = world;
    this.#random = input.random;
    this.#trueOnes = input.trueOnes;
    this.#forged = input.forged;
    this.#small = input.small;
    const [account] = world.accounts;
    if (!account) throw new Error('There is no tenant.');
    this.#tenant = new TenantWorld(world, account);
    this.watch = new ChunkWatch(world);
    clockStandsStill(world);
    const queue = new ChunkQueueSim(world, (message) => this.#work(message));
    world.sendJobs = (_, jobs) => queue.send(jobs as readonly ChunkMessage[]);
  }

  async play(): Promise<void> {
    const world = this.#world;
    const random = this.#random;
    await this.#create();
    this.#intervalMs = 15 * minute;
    world.start(0, () => this.#schedule());
    const acting = [this.#beside()];
    for (let count = random.int(1, agentsMax); count > 0; count -= 1) this.#errands.push(this.#errand());
    for (const errand of this.#errands) acting.push(this.#send(errand));
    world.start(3 * hour, async () => {
      world.weather.calm = true;
      this.#intervalMs = 2 * hour;
    });
    await Promise.all(acting);
    world.weather.calm = true;
    this.#intervalMs = 12 * hour;
    do await world.wait(90 * minute);
    while (world.running > 0);
    for (let waitedMs = 0; this.#hasUploads(); waitedMs += 2 * hour) {
      if (waitedMs > restMaxMs) throw new Violation(`Chunks: an upload never ends: ${this.#left()}`);
      await world.wait(2 * hour);
    }
    await world.wait(unconfirmedForMs + 90 * minute);
    // As long as the claims of chunked uploads can be, repos are watched for what was promised.
    await world.wait(claimedForMs);
    this.#intervalMs = undefined;
    await world.wait(6 * hour);
    this.#checkNothingLeft();
    await checkRest(this.#tenant);
  }

  /** Of one maker, everybody works with the same upload of an object. */
  isSpoilable(madeBy: string, oid: string): boolean {
    return this.#errands.some(
      ({ way, contents, ...errand }) =>
        way !== 'honest' && errand.madeBy === madeBy && contents.some((content) => content.oid === oid),
    );
  }

  #errand(): Errand {
    const random = this.#random;
    const way = random.chance(0.5) ? 'honest' : random.pick(ways);
    const content = random.chance(way === 'honest' ? 0.2 : 0.1)
      ? random.pick(this.#forged)
      : random.pick(this.#trueOnes);
    const beside = random.chance(0.4) ? [random.pick(this.#trueOnes)] : [];
    const small = random.chance(0.2) ? [this.#small] : [];
    const maker = random.int(0, 1);
    return {
      way,
      contents: [...new Set([content, ...beside, ...small])],
      repo: repoName(random.int(0, 1)),
      madeBy: `maker-${maker}`,
      tokenId: random.chance(0.7) ? tokenIdOfMaker(maker) : undefined,
      other: random.pick([...this.#trueOnes, ...this.#forged]),
    };
  }

  async #send(errand: Errand): Promise<void> {
    const random = this.#random;
    await this.#world.wait(random.chance(0.6) ? random.int(0, minute) : random.int(0, 2 * hour));
    const agent = new ChunkAgent({
      world: this.#world,
      tenant: this.#tenant,
      watch: this.watch,
      random,
      errand,
      isSpoilable: (oid) => this.isSpoilable(errand.madeBy, oid),
    });
    await agent.run();
    // While its reservation is alive.
    if (random.chance(0.3)) await this.#delete(errand.repo, random.pick(errand.contents));
  }

  async #create(): Promise<void> {
    const tenant = tenantName(0);
    const limitBytes = this.#random.pick([null, this.#random.int(100, 500), this.#random.int(200, 1_500)]);
    await this.#insist((deps, code) => code.createTenant(deps, { tenant, plan: null, limitBytes }));
    // Not by a function, whose write could land once more after a token is revoked.
    const tokens = stores.tokens(this.#world.table);
    for (const maker of [0, 1])
      await tokens.put(tokenRecord(`maker ${maker}`, { tenant, tokenId: tokenIdOfMaker(maker) }));
  }

  /** Until it is answered. */
  async #insist<T>(run: (deps: SimDeps, code: Code) => Promise<T>): Promise<T> {
    for (;;) {
      const made = await this.#world.invoke(run, { mayOutlive: false });
      if (typeof made === 'object') return made.answer;
      await this.#world.wait(1_000);
    }
  }

  async #revoke(): Promise<void> {
    const tokenId = tokenIdOfMaker(this.#random.int(0, 1));
    await this.#insist((deps) => deps.tokens.delete({ tenant: this.#tenant.tenant, tokenId }));
    this.watch.noteRevoked(tokenId);
  }

  /** Somebody cancels one of the uploads that there are. */
  async #cancel(): Promise<void> {
    const { tenant } = this.#tenant;
    const items = [...this.#world.table.store.all()].filter(({ pk }) =>
      String(pk).startsWith(`UPLOAD#${tenant}#`),
    );
    if (items.length === 0) return;
    const id = String(this.#random.pick(items)['sk']);
    const { count } = await this.#insist((deps, code) => code.cancelReservations(deps, { tenant, id }));
    if (count > 0) this.watch.noteCancelled(id);
  }

  /** What else happens to the tenant meanwhile. */
  async #beside(): Promise<void> {
    const world = this.#tenant;
    const random = this.#random;
    for (let count = random.int(0, 6); count > 0; count -= 1) {
      await world.wait(random.chance(0.7) ? random.int(0, 5 * minute) : random.int(0, 90 * minute));
      const base = { tenant: 0, afterMs: 0 };
      const what = random.int(0, 12);
      if (what < 3) await act(world, { sizes: [] }, { ...base, kind: 'reconcile', full: random.chance(0.5) });
      else if (what < 5)
        await act(world, { sizes: [] }, { ...base, kind: 'read', refresh: random.chance(0.5) });
      else if (what === 5)
        await act(world, { sizes: [] }, { ...base, kind: 'limit', limitBytes: random.int(100, 1_000) });
      else if (what < 9) await this.#delete(repoName(random.int(0, 1)), random.pick(this.#trueOnes));
      else if (what < 12) await this.#cancel();
      else await this.#revoke();
    }
  }

  /** An object is deleted, or more than that with it. */
  async #delete(repo: string, { oid }: Content): Promise<void> {
    const world = this.#tenant;
    const random = this.#random;
    const { tenant, invariants } = world;
    const path = { tenant, repo };
    switch (random.pick(['object', 'object', 'repo', 'gc'] as const)) {
      case 'object': {
        const wish = { ...path, oid, dryRun: false };
        await world.invoke((deps, code) => code.markObject(deps, wish), { mayOutlive: false });
        return invariants.requestDeletion(wish, world.scheduler.nowMs);
      }
      case 'repo':
        invariants.requestDeletion({ repo }, world.scheduler.nowMs);
        await world.invoke((deps, code) => code.deleteRepo(deps, { ...path, dryRun: false }));
        return;
      case 'gc': {
        const oids = [...this.#trueOnes, this.#small].map((content) => content.oid);
        const keep = new Set(random.chance(0.5) ? oids : []);
        keep.delete(oid);
        return collectGarbage(world, { ...path, oids, keep, isCancelled: random.chance(0.2) });
      }
    }
  }

  async #schedule(): Promise<void> {
    const world = this.#world;
    while (this.#intervalMs !== undefined) {
      await world.wait(this.#intervalMs);
      world.ageIndexes();
      await world.invoke(
        async (deps, code) => {
          await code.refresh(deps);
          await its(code).wakeUploads(deps);
        },
        { limitMs: 300_000 },
      );
    }
  }

  async #work(message: ChunkMessage): Promise<'done' | 'failed' | 'died'> {
    const outcome = await this.#world.invoke<unknown>(
      async (deps, code) => {
        const deadlineMs = deps.clock.nowMs() + workerLimitMs - workerReserveMs;
        try {
          switch (message.step) {
            case 'prove':
              return await its(code).proveChunk(deps, { path: message, ...message });
            case 'assemble':
              return await its(code).assembleUpload(deps, { path: message, deadlineMs });
            case 'tidy':
              return await its(code).tidyUpload(deps, message);
          }
        } catch (error) {
          // Another worker is at it: the message fails as if the store did not answer.
          throw error instanceof UploadGoneError ? new StoreUnavailableError('It is gone.') : error;
        }
      },
      { limitMs: workerLimitMs },
    );
    if (typeof outcome === 'object') return 'done';
    return outcome === 'error' ? 'failed' : 'died';
  }

  #hasUploads(): boolean {
    return this.#left() !== '';
  }

  /** What is left of chunked uploads. */
  #left(): string {
    const { archives, store, table } = this.#world;
    // What expires, the table removes by itself.
    const items = [...table.store.all()].filter(
      ({ pk, ...item }) => String(pk).startsWith('UPLOAD#') && item[expiryAttribute] === undefined,
    );
    const uploads = archives.openUploads.filter(({ parts }) => parts > 0);
    return [
      ...store.keysBelow('_parts/'),
      ...uploads.map(({ key }) => `a multipart upload of ${key}`),
      ...items.map(({ pk, sk }) => `${pk} ${sk}`),
    ].join(', ');
  }

  #checkNothingLeft(): void {
    if (this.#hasUploads()) throw new Violation(`Chunks: left at rest: ${this.#left()}`);
  }
}
