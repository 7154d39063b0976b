import { parseArgs } from 'node:util';
import { sha256Hex } from '../../lambda/domain/hash.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { createTenant } from '../../lambda/use-cases/access/create-tenant.ts';
import { allPages } from '../../lambda/use-cases/all-pages.ts';
import { markObject } from '../../lambda/use-cases/deletes/delete-objects.ts';
import { runRecount } from '../../lambda/use-cases/recounts/run-recount.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import { admitUpload } from '../../lambda/use-cases/uploads/admit-upload.ts';
import { ManualClock, memoryDeps, recordingQueue } from '../../test/support/memory/deps.ts';
import { MemoryLedger } from '../../test/support/memory/ledger.ts';
import { updateTenant } from '../../test/support/over-settings.ts';
import { Random } from '../../test/support/random.ts';
import { VastStore } from './vast-store.ts';

const tenant = 'acme';
const repo = 'app';
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

interface Outcome {
  readonly name: string;
  readonly actions: number;
  readonly rightWithinSeconds: number;
  readonly listsByPushes: number;
  readonly listsByDeletes: number;
  readonly listsOfRounds: number;
  readonly heads: number;
}

/**
 * A tenant with one repo of many objects: pushes, deletes and new limits, first while no shard is due, then while all
 * roll. The use cases are those that are deployed, with ledger and store in memory and a clock that is moved.
 *
 * `npm run bench -- giant-repo [--objects N] [--actions N]`
 *
 * @throws if usage is not right within two minutes of an action, or a push causes a LIST.
 */
export async function benchGiantRepo(
  print: (text: string) => void,
  options: readonly string[],
): Promise<unknown> {
  const { values } = parseArgs({
    args: [...options],
    options: { objects: { type: 'string', default: '1e8' }, actions: { type: 'string', default: '100' } },
  });
  const [objects, actions] = [Number(values.objects), Number(values.actions)];
  const world = new GiantWorld(objects);
  const seconds = async (run: () => Promise<unknown>) => {
    const beganMs = performance.now();
    await run();
    return ((performance.now() - beganMs) / 1000).toFixed(1);
  };
  print(
    `${objects.toLocaleString('en')} objects: counted for the first time in ${await seconds(() => world.create())} s,`,
  );
  print(
    `  and again in ${await seconds(() => world.recountAll())} s: ${await world.shardCount()} shards, ${world.runs} runs`,
  );
  world.check('after the first count');
  const still = await world.act('no shard is due', actions);
  world.startRounds();
  const rolling = await world.act('all shards roll', actions);
  await world.settle();
  for (const outcome of [still, rolling]) {
    print(
      `\n${outcome.name}: ${outcome.actions} actions, usage right within ${outcome.rightWithinSeconds} s`,
    );
    print(
      `  LISTs by pushes ${outcome.listsByPushes}, by deletes ${outcome.listsByDeletes}, of rounds ${outcome.listsOfRounds}; HEADs ${outcome.heads}`,
    );
  }
  print('\nAt rest: stored = counted = committed, and no reservation is left.');
  return { objects, outcomes: [still, rolling] };
}

class GiantWorld {
  readonly #clock = new ManualClock();
  readonly #ledger = new MemoryLedger();
  readonly #store: VastStore;
  readonly #queue = recordingQueue();
  readonly #settings = { ...defaultSettings, deleteGraceMs: minute };
  readonly #random = new Random(1);
  #deps: ReturnType<typeof memoryDeps>;
  #objects: number;
  #pushed: string[] = [];
  #isRolling = false;
  /** Runs of the queue that the last count of all shards took. */
  runs = 0;

  constructor(objects: number) {
    this.#objects = objects;
    this.#store = new VastStore({
      prefix: `${tenant}/${repo}/`,
      count: objects,
      storedAtMs: this.#clock.nowMs() - day,
    });
    this.#deps = this.#depsOf(this.#settings);
  }

  #depsOf(settings: typeof defaultSettings) {
    const [clock, listing] = [this.#clock, this.#store];
    return memoryDeps({
      clock,
      settings,
      ledger: this.#ledger,
      store: this.#store,
      listing,
      scan: createPathScan({ clock, settings, listing }),
      queue: this.#queue.queue,
    });
  }

  async create(): Promise<void> {
    await createTenant(this.#deps, { tenant, plan: null, limitBytes: 1e15 });
    await this.#untilCounted('import');
    this.#clock.advance(hour);
  }

  /** Has all shards scanned. */
  async recountAll(): Promise<void> {
    await this.#untilCounted('manual');
  }

  /** Recounts in runs of the queue until no count of all shards is under way. */
  async #untilCounted(reason: 'manual' | 'import'): Promise<void> {
    await this.recount(reason, true);
    for (let runs = 1; runs < 10_000; runs += 1) {
      this.runs = runs;
      const { record } = this.#ledger.inspect(tenant);
      const giant = (await this.#ledger.readRepo({ tenant, repo }))?.giant;
      if (record?.counted && giant && !giant.isFirstCount && !giant.progress) return;
      this.#clock.advance(minute);
      await this.recount(reason, record?.counted === null || !giant);
    }
    throw new Error('The count does not end.');
  }

  async recount(reason: 'manual' | 'import' | 'upload' | 'schedule', full: boolean): Promise<void> {
    const request = { tenant, reason, full };
    await runRecount(this.#deps, { request, deadlineMs: this.#clock.nowMs() + 4 * minute });
  }

  async shardCount(): Promise<number> {
    return (await allPages(this.#ledger.shards({ tenant, repo }))).length;
  }

  /** From now on each shard is due every ten minutes, or once in a minute for each million objects. */
  startRounds(): void {
    this.#isRolling = true;
    const shardRoundMs = Math.max(10 * minute, (this.#objects / 1e6) * minute);
    this.#deps = this.#depsOf({ ...this.#settings, shardRoundMs });
  }

  check(when: string): void {
    const { record } = this.#ledger.inspect(tenant);
    const { storedBytes, objectCount } = this.#store;
    const counted = record?.counted;
    if (counted?.storedBytes !== storedBytes || counted.objectCount !== objectCount)
      throw new Error(
        `${when}: ${objectCount} objects of ${storedBytes} bytes are stored, ${counted?.objectCount} of ${counted?.storedBytes} are shown.`,
      );
  }

  /** A minute passes, and what was queued or is due is recounted. @returns LIST requests. */
  async #minute(): Promise<number> {
    this.#clock.advance(minute);
    const before = this.#store.lists;
    const { requests } = this.#queue;
    const { due } = await this.#ledger.dueTenants({ untilMs: this.#clock.nowMs(), tenantsMax: 1 });
    const isQueued = requests.length > 0;
    requests.length = 0;
    if (isQueued) await this.recount('upload', false);
    else if (due[0]) await this.recount('schedule', due[0].full);
    return this.#store.lists - before;
  }

  async act(name: string, actions: number): Promise<Outcome> {
    const lists = { push: 0, delete: 0, round: 0 };
    const { heads } = this.#store;
    let worstMinutes = 0;
    for (let action = 0; action < actions; action += 1) {
      const kind = (['push', 'push', 'delete', 'limit'] as const)[action % 4] ?? 'push';
      const before = this.#store.lists;
      await this.#do(kind);
      let caused = this.#store.lists - before;
      let minutes = 0;
      for (; minutes < 2; minutes += 1) {
        const made = await this.#minute();
        if (this.#isRolling) lists.round += made;
        else caused += made;
        if (this.#isRight()) break;
      }
      worstMinutes = Math.max(worstMinutes, minutes + 1);
      this.check(`two minutes after ${kind} ${action}`);
      if (kind === 'delete') lists.delete += caused;
      else lists.push += caused;
    }
    if (lists.push > 0) throw new Error(`Pushes caused ${lists.push} LIST requests.`);
    return {
      name,
      actions,
      rightWithinSeconds: worstMinutes * 60,
      listsByPushes: lists.push,
      listsByDeletes: lists.delete,
      listsOfRounds: lists.round,
      heads: this.#store.heads - heads,
    };
  }

  #isRight(): boolean {
    const { record } = this.#ledger.inspect(tenant);
    return (
      record?.counted?.storedBytes === this.#store.storedBytes &&
      record.counted.objectCount === this.#store.objectCount
    );
  }

  async #do(kind: 'push' | 'delete' | 'limit'): Promise<void> {
    switch (kind) {
      case 'push':
        return this.#push();
      case 'delete':
        return this.#delete();
      case 'limit':
        await updateTenant(this.#ledger, { tenant, limitBytes: 1e15 + this.#random.int(0, 1e6) });
    }
  }

  async #push(): Promise<void> {
    const [record, path] = await Promise.all([
      this.#ledger.readTenant(tenant),
      this.#ledger.readRepo({ tenant, repo }),
    ]);
    if (!record) throw new Error('The tenant is gone.');
    const oids = Array.from({ length: 20 }, () => sha256Hex(String(this.#random.next())));
    const objects = new Map(oids.map((oid) => [oid, this.#random.int(1, 1e6)]));
    const repoObjects = path?.objectCount;
    const outcome = await admitUpload(this.#deps, { tenant: record, repo, repoObjects, objects });
    if (outcome.kind !== 'answered') throw new Error(`A push was answered ${outcome.kind}.`);
    for (const [oid, sizeBytes] of objects)
      this.#store.put(oid, { sizeBytes, lastModifiedMs: this.#clock.nowMs() });
    this.#pushed.push(...oids);
  }

  /** Of one that was there from the beginning, or one that was pushed and whose URL is no longer valid. */
  async #delete(): Promise<void> {
    const oid = this.#store.nameOf(this.#random.int(0, this.#objects - 1));
    await markObject(this.#deps, { tenant, repo, oid, dryRun: false });
    this.#clock.advance(this.#settings.deleteGraceMs);
    this.#queue.requests.push({ tenant, reason: 'delete', full: false });
  }

  /** Lets all reservations die, and what is late be over. */
  async settle(): Promise<void> {
    this.#deps = this.#depsOf(this.#settings);
    for (let passed = 0; passed < 26; passed += 1) {
      this.#clock.advance(hour);
      await this.recount('schedule', false);
    }
    this.check('at rest');
    const { record, reservations } = this.#ledger.inspect(tenant);
    if (record?.committedBytes !== this.#store.storedBytes || reservations.length > 0)
      throw new Error(
        `At rest ${this.#store.storedBytes} bytes are stored, ${record?.committedBytes} committed, and ${reservations.length} reservations are left.`,
      );
  }
}
