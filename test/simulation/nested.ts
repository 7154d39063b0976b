import { deleteRepo, markObject } from '../../lambda/core/ledger/deletes.ts';
import { emptyClosedRepos } from '../../lambda/core/ledger/empty-repos.ts';
import { reconcile } from '../../lambda/core/ledger/reconcile.ts';
import { runDeletions } from '../../lambda/core/ledger/run-deletions.ts';
import type { TableClient } from '../../lambda/core/table/table.ts';
import { MemoryLedger } from '../support/memory/ledger.ts';
import { MemoryStack, minute, oidOf, tenant } from '../support/memory/stack.ts';
import { type MemoryTable, memoryTable } from '../support/memory/table.ts';
import { Random } from '../support/random.ts';
import { Violation } from './invariants.ts';

const hour = 60 * minute;
const limitBytes = 100;
/** The URL of an object may be used for so long, by PUTs that take up to a day. */
const urlUseMs = 36 * minute + 24 * hour;
const sizes = [50, 50, 100, 25];

type Operation = 'push' | 'land' | 'consume' | 'deletions' | 'reconcile' | 'delete';
type Step = Operation | 'dead' | 'time';

/**
 * People who push, delete and push again, with PUTs that land whenever they like within a day. One operation runs as a
 * whole within another, at any operation of the ledger on its table: what two functions can do to each other at worst. The oracle knows
 * the URLs and the bucket, and nothing of the ledger.
 *
 * @throws {Violation} when more than twice the limit is stored or may arrive, or if a day later the numbers are not exact.
 */
export async function runNested(seed: number): Promise<void> {
  const run = new NestedRun(new Random(seed));
  await run.play();
  await run.checkRest();
}

class NestedRun {
  readonly #random: Random;
  readonly #world: MemoryStack;
  /** Path → an object for which there is a URL. */
  readonly #issued = new Map<string, { sizeBytes: number; untilMs: number }>();
  /** Path → bytes. */
  readonly #stored = new Map<string, number>();
  readonly #operations: Readonly<Record<Operation, () => Promise<unknown>>>;
  #depth = 0;
  #isQueueBusy = false;
  #pushed = 0;

  constructor(random: Random) {
    this.#random = random;
    const pageItemsMax = random.pick([1, 2, 100]);
    this.#world = new MemoryStack(
      { unconfirmedEntriesMax: random.pick([0, 100_000]) },
      new MemoryLedger({ on: nesting(memoryTable({ pageItemsMax }), () => this.#runBeside()) }),
    );
    this.#world.beforeDelete = (key) => void this.#stored.delete(key.slice(tenant.length + 1));
    this.#operations = {
      push: () => this.#push(),
      land: () => this.#land(),
      consume: () => this.#alone(() => this.#world.consume({ full: random.chance(0.2) })),
      deletions: () => this.#alone(() => this.#delete()),
      reconcile: () => reconcile(this.#world.deps, { tenant, full: random.chance(0.1), isAwaited: true }),
      delete: () => this.#requestDeletion(),
    };
  }

  async play(): Promise<void> {
    const random = this.#random;
    await this.#world.create(limitBytes);
    for (const planned of this.#plan()) {
      const others: Step[] = ['push', 'land', 'consume', 'reconcile', 'delete', 'time'];
      const step = random.chance(0.1) ? random.pick(others) : planned;
      if (step === 'dead') this.#world.nowMs += 38 * minute;
      else if (step === 'time') this.#world.nowMs += random.pick([1, 11, 38, 38, 61]) * minute;
      else await this.#run(step);
      this.#check();
    }
  }

  async checkRest(): Promise<void> {
    const world = this.#world;
    await world.pass(27 * hour);
    await world.consume();
    await world.consume({ full: true });
    const storedBytes = [...this.#stored.values()].reduce((sum, bytes) => sum + bytes, 0);
    const usage = await world.usage();
    const left = world.ledger.inspect(tenant).reservations.length;
    if (usage.committedBytes === storedBytes && usage.storedBytes === storedBytes && left === 0) return;
    throw new Violation(`I3: ${storedBytes} stored, ${JSON.stringify(usage)}, ${left} reservations at rest`);
  }

  /** Rounds of pushes that arrive, die and are deleted, while others reconcile. */
  #plan(): Step[] {
    const random = this.#random;
    const steps: Step[] = [];
    for (let round = 0; round < 6; round += 1) {
      steps.push('push', 'push');
      if (random.chance(0.7)) steps.push('land', 'land', 'land');
      steps.push('consume', 'dead', 'consume');
      if (!random.chance(0.8)) continue;
      steps.push('delete', 'delete', 'reconcile', random.pick(['time', 'dead']));
      steps.push(random.pick(['reconcile', 'consume']), 'consume');
    }
    return steps;
  }

  async #run(operation: Operation): Promise<void> {
    this.#depth += 1;
    await this.#operations[operation]();
    this.#depth -= 1;
  }

  /** Called before and after every operation on the table. */
  async #runBeside(): Promise<void> {
    if (this.#depth !== 1 || !this.#random.chance(0.12)) return;
    await this.#run(this.#random.pick(['push', 'land', 'reconcile', 'deletions', 'deletions']));
  }

  /** The queue runs one message of a tenant at a time. */
  async #alone(task: () => Promise<unknown>): Promise<void> {
    if (this.#isQueueBusy) return;
    this.#isQueueBusy = true;
    await task();
    this.#isQueueBusy = false;
  }

  async #push(): Promise<void> {
    const random = this.#random;
    const isNew = this.#pushed === 0 || random.chance(0.8);
    const index = isNew ? this.#pushed++ : random.int(0, this.#pushed - 1);
    const repo = `r${random.int(0, 1)}`;
    const sizeBytes = sizes[index % sizes.length] ?? 0;
    const verdicts = await this.#world.push(repo, { [oidOf(index)]: sizeBytes });
    if (typeof verdicts === 'string' || verdicts.get(oidOf(index))?.kind !== 'upload') return;
    this.#issued.set(`${repo}/${oidOf(index)}`, { sizeBytes, untilMs: this.#world.nowMs + urlUseMs });
  }

  async #land(): Promise<void> {
    const open = [...this.#issued].filter(([, { untilMs }]) => untilMs > this.#world.nowMs);
    if (open.length === 0) return;
    const [path, { sizeBytes }] = this.#random.pick(open);
    this.#world.put({ [path]: sizeBytes });
    this.#stored.set(path, sizeBytes);
  }

  async #delete(): Promise<void> {
    const untilMs = this.#world.nowMs + minute;
    const { deletionCount } = await this.#world.record();
    await runDeletions(this.#world.deps, { tenant, untilMs, deletionCount });
    await emptyClosedRepos(this.#world.deps, { tenant, untilMs });
  }

  async #requestDeletion(): Promise<void> {
    const paths = [...this.#stored.keys()];
    if (paths.length === 0) return;
    const [repo = '', oid = ''] = this.#random.pick(paths).split('/');
    const { deps } = this.#world;
    if (this.#random.chance(0.5)) await deleteRepo(deps, { tenant, repo, dryRun: false });
    else await markObject(deps, { tenant, repo, oid, dryRun: false });
  }

  #check(): void {
    const all = new Map(this.#stored);
    for (const [path, { sizeBytes, untilMs }] of this.#issued)
      if (untilMs > this.#world.nowMs) all.set(path, sizeBytes);
    const total = [...all.values()].reduce((sum, bytes) => sum + bytes, 0);
    if (total > 2 * limitBytes) throw new Violation(`I1: ${total} bytes are stored or may arrive`);
  }
}

/** A table beside whose every operation something else may happen. */
function nesting(table: MemoryTable, beside: () => Promise<void>): MemoryTable {
  const client: TableClient = {
    async send(operation, input) {
      await beside();
      try {
        return await table.client.send(operation, input);
      } finally {
        await beside();
      }
    },
  };
  return { ...table, client };
}
