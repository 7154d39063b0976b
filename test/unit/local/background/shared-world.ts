import { setImmediate as nextTurn } from 'node:timers/promises';
import { AwsServiceError } from '../../../../lambda/core/rules/errors.ts';
import type { Consumer } from '../../../../lambda/core/rules/jobs.ts';
import type { Fields } from '../../../../lambda/core/table/expressions.ts';
import type { Operations, TableClient } from '../../../../lambda/core/table/table.ts';
import { createInvocations } from '../../../../lambda/frame/aws/invocation-log.ts';
import { sharedDelivery } from '../../../../local/background/delivery.ts';
import { queuePartitions } from '../../../../local/background/kept.ts';
import {
  defaultQueueTiming,
  type QueueName,
  type Queues,
  queuesOfSubjects,
} from '../../../../local/background/queues.ts';
import type { Timers } from '../../../../local/background/schedule.ts';
import { LocalTable } from '../../../../local/table/table.ts';
import { MemoryStore } from '../../../support/memory/memory-store.ts';
import { Random } from '../../../support/random.ts';

/** As leader.ts has it. */
const leaseMs = 30_000;
/** By how much wall clocks differ from the true time, at most, in different runs. */
const skewsMaxMs = [0, 2_000, 12_000];
const slowMaxMs = 600;
/** From a request to a late effect or answer. */
const lateMaxMs = [500, 4_000, 45_000];
const failuresMax = 3;
const faultChance = 0.08;
const freezeMaxMs = 60_000;
const timing = { ...defaultQueueTiming, quietMs: 1_000, quietMaxMs: 2_000, spacingMs: 500, retryMs: 500 };
const retryMs = 2_000;

const kept: ReadonlySet<string> = new Set([
  queuePartitions.reconciles,
  queuePartitions.deadReconciles,
  queuePartitions.webhooks,
  queuePartitions.emails,
]);
/** Of subjects, those whose jobs are in the table, each with its port. */
const keptQueues = queuesOfSubjects.flatMap(([name, { partition, port }]) =>
  partition === undefined ? [] : [[name, port] as const],
);
/** The port of one whose jobs are in memory alone, and which its subject asks for again. */
const resumedPort = queuesOfSubjects.findLast(
  ([, { partition, isOwn }]) => partition === undefined && !isOwn,
)?.[1].port;
/** One for all: each would cost every promise a look. */
const invocations = createInvocations();
const silent = { info: () => {}, warn: () => {}, error: () => {} };

/** Something that was accepted, and is to be delivered by a run that began after it was asked for. */
interface Promised {
  readonly what: string;
  readonly askedAt: number;
}

/**
 * Processes that share a table in memory, with one time for all. They're killed and frozen between requests, and requests
 * fail before or after they took effect, or land later, or twice.
 */
export class SharedWorld {
  readonly random: Random;
  readonly store = new MemoryStore();
  readonly table = new LocalTable(this.store);
  readonly violations: string[] = [];
  readonly skewMaxMs: number;
  isFaulty = true;
  /** Deliveries that succeeded, takeovers, and refused writes of earlier leaders, to see that something happens. */
  readonly seen = { deliveries: 0, terms: 0, refusals: 0, kills: 0, freezes: 0 };
  nowMs = 1_000_000;
  /** Counts what happens. */
  moment = 0;
  readonly #timers = new Map<number, { atMs: number; callback: () => void }>();
  #timerIds = 0;
  #nodes: Node[] = [];
  #number = 0;
  /** Number of a leader → when it sent its last renewal that came before the next leader. */
  readonly #renewedAtMs = new Map<number, number>();
  readonly #promised: Promised[] = [];
  /** What → when the last run that succeeded began. */
  readonly #delivered = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  /** Of those in memory, what isn't done. */
  readonly #open = new Set<string>();

  constructor(seed: number, nodes: number) {
    this.random = new Random(seed);
    this.skewMaxMs = this.random.pick(skewsMaxMs);
    for (let count = 0; count < nodes; count += 1) this.#nodes.push(new Node(this));
  }

  after(delayMs: number, callback: () => void): () => void {
    const id = ++this.#timerIds;
    this.#timers.set(id, { atMs: this.nowMs + delayMs, callback });
    return () => void this.#timers.delete(id);
  }

  /** @param isDone ends it before. */
  async advance(durationMs: number, isDone = () => false): Promise<void> {
    const untilMs = this.nowMs + durationMs;
    for (;;) {
      // All that runs by promises alone has run then.
      await nextTurn();
      if (isDone()) return;
      let first: [number, { atMs: number; callback: () => void }] | undefined;
      for (const timer of this.#timers) if (!first || timer[1].atMs < first[1].atMs) first = timer;
      if (first === undefined || first[1].atMs > untilMs) break;
      this.#timers.delete(first[0]);
      this.nowMs = Math.max(this.nowMs, first[1].atMs);
      first[1].callback();
    }
    this.nowMs = untilMs;
  }

  /** A process ends between two instructions. Another one starts in its place. */
  kill(node: Node): void {
    this.seen.kills += 1;
    node.isDead = true;
    this.#nodes = this.#nodes.filter((each) => each !== node);
    this.after(this.random.int(0, 8_000), () => void this.#nodes.push(new Node(this)));
  }

  /** Nobody stays frozen. */
  wake(): void {
    for (const node of this.#nodes) node.wake();
  }

  /** Asks come in bursts. */
  async live(asks: number): Promise<void> {
    for (let asked = 0; asked < asks; asked += 1) {
      await this.advance(this.random.int(0, this.random.chance(0.7) ? 400 : 15_000));
      this.ask();
    }
    await this.advance(this.random.int(0, 40_000));
  }

  /** Some process asks for something. */
  ask(): void {
    if (this.#nodes.length === 0) return;
    const { queues } = this.random.pick(this.#nodes);
    const askedAt = ++this.moment;
    const tenant = this.random.pick(['acme', 'lab']);
    const [what, sending] = this.#send(queues, { tenant, askedAt });
    sending.then(
      () => this.#promised.push({ what, askedAt }),
      () => undefined,
    );
  }

  #send(queues: Queues, { tenant, askedAt }: { tenant: string; askedAt: number }) {
    const what = `message-${askedAt}`;
    const of = (sent: Promise<void>, name = what) => [name, sent] as const;
    const drawn = this.random.int(0, 5);
    if (drawn < 2) {
      const [, port] = this.random.pick(keptQueues);
      return of(Object(queues)[port].send([{ tenant, key: what }]));
    }
    if (drawn === 2 && resumedPort !== undefined) {
      this.#open.add(what);
      return of(Object(queues)[resumedPort].send([{ tenant, key: what }]));
    }
    const reason = this.random.pick(['upload', 'manual', 'manual'] as const);
    return of(queues.queue.request({ tenant, reason, full: this.random.chance(0.2) }), tenant);
  }

  /** What was accepted and isn't delivered. */
  get owed(): readonly string[] {
    return this.#promised
      .filter(({ what, askedAt }) => (this.#delivered.get(what) ?? 0) < askedAt)
      .map(({ what }) => what);
  }

  get inbox() {
    return this.store.itemsOf(queuePartitions.inbox);
  }

  async deliver(what: string, by: { node: Node; number: number }): Promise<boolean> {
    const beganAt = ++this.moment;
    const unrenewedMs = this.nowMs - (this.#renewedAtMs.get(by.number) ?? 0);
    if (unrenewedMs > leaseMs)
      this.violations.push(`${by.number} delivers ${what}, ${unrenewedMs} ms after it renewed its lease`);
    await new Promise<void>((resolve) => void by.node.timers.after(this.random.int(0, 3_000), resolve));
    const failures = this.#failures.get(what) ?? 0;
    if (this.isFaulty && failures < failuresMax && this.random.chance(0.2)) {
      this.#failures.set(what, failures + 1);
      return false;
    }
    this.seen.deliveries += 1;
    this.#open.delete(what);
    this.#delivered.set(what, Math.max(beganAt, this.#delivered.get(what) ?? 0));
    return true;
  }

  /** What is in memory alone is asked for again. */
  async resume(queues: Queues, isAlone: boolean): Promise<void> {
    if (isAlone) throw new Error('Another process may have the lease of a job.');
    if (resumedPort === undefined) return;
    await Object(queues)[resumedPort].send([...this.#open].map((key) => ({ tenant: 'acme', key })));
  }

  /** A request takes effect. @param number of the term that sent it. */
  async land<O extends keyof Operations>(
    operation: O,
    input: Operations[O][0],
    { number, sentAtMs }: { number: number; sentAtMs: number },
  ) {
    const key = ('Key' in input ? input.Key : 'Item' in input ? input.Item : undefined) as Fields | undefined;
    const isWrite = operation !== 'GetItem' && operation !== 'Query';
    const at = key && { pk: String(key['pk']), sk: String(key['sk']) };
    const before = at && this.store.find(at);
    try {
      const output = await this.table.send(operation, input);
      const keeper = Number(before?.['leader'] ?? 0);
      if (isWrite && at && kept.has(at.pk) && keeper > number)
        this.violations.push(`${number} wrote ${at.pk} ${at.sk}, which ${keeper} keeps`);
      if (operation === 'UpdateItem') this.#noteLeader(input as Operations['UpdateItem'][0], sentAtMs);
      return output;
    } catch (error) {
      if (isWrite && at && kept.has(at.pk)) this.seen.refusals += 1;
      throw error;
    }
  }

  #noteLeader({ Key, ExpressionAttributeValues: values }: Operations['UpdateItem'][0], sentAtMs: number) {
    if (Key['pk'] !== queuePartitions.leader) return;
    const number = Number(this.store.find({ pk: Key['pk'], sk: 'LEADER' })?.['number']);
    if (number < this.#number) this.violations.push(`${number} follows ${this.#number}`);
    if (number > this.#number) this.seen.terms += 1;
    this.#number = number;
    if (values?.[':number'] === number)
      this.#renewedAtMs.set(number, Math.max(sentAtMs, this.#renewedAtMs.get(number) ?? 0));
  }
}

/** One process. */
class Node {
  readonly #world: SharedWorld;
  readonly queues: Queues;
  isDead = false;
  /** Of its last term. */
  number = 0;
  /** What happens once it wakes. Undefined: it's awake. */
  #frozen: (() => void)[] | undefined;

  constructor(world: SharedWorld) {
    this.#world = world;
    const skewMs = world.random.int(-world.skewMaxMs, world.skewMaxMs);
    const clock = {
      nowMs: () => world.nowMs + skewMs,
      sleep: (durationMs: number) =>
        new Promise<void>((resolve) => void this.timers.after(durationMs, resolve)),
    };
    const table = { client: this.#client, tableName: 'shared', pauseUpTo: clock.sleep };
    const delivery = sharedDelivery({
      table,
      clock,
      timers: this.timers,
      log: silent,
      invocations,
      timing,
      elapsedMs: () => world.nowMs,
    });
    this.queues = delivery.queues;
    void delivery.start({
      resume: (queues, isAlone) => world.resume(queues, isAlone),
      refresh: async () => undefined,
      consumers: this.#consumers(),
    });
  }

  readonly timers: Timers = {
    after: (delayMs, callback) => this.#world.after(delayMs, () => this.#whenAwake(callback)),
  };

  /** Nothing happens in this process, while time goes on. */
  freeze(durationMs: number): void {
    this.#world.seen.freezes += 1;
    this.#frozen ??= [];
    this.#world.after(durationMs, () => this.wake());
  }

  wake(): void {
    const waiting = this.#frozen ?? [];
    this.#frozen = undefined;
    for (const callback of waiting) this.#whenAwake(callback);
  }

  #whenAwake(callback: () => void): void {
    if (this.isDead) return;
    if (this.#frozen) this.#frozen.push(callback);
    else callback();
  }

  #consumers() {
    const consumer =
      (whatOf: (body: { [name: string]: unknown }) => string): Consumer =>
      async ({ body, again }) => {
        const isDone = await this.#world.deliver(whatOf(JSON.parse(body)), {
          node: this,
          number: this.number,
        });
        if (!isDone) await again(retryMs);
        return isDone;
      };
    return {
      ...Object.fromEntries(queuesOfSubjects.map(([name]) => [name, consumer(({ key }) => String(key))])),
      reconciles: consumer(({ tenant }) => String(tenant)),
    } as Readonly<Record<QueueName, Consumer>>;
  }

  readonly #client: TableClient = {
    send: <O extends keyof Operations>(operation: O, input: Operations[O][0]) =>
      new Promise<Operations[O][1]>((resolve, reject) => {
        const world = this.#world;
        const sent = { number: this.number, sentAtMs: world.nowMs };
        const { random, isFaulty } = world;
        const land = () => world.land(operation, input, sent).then((output) => this.#noteTerm(input, output));
        const answer = (landing: Promise<Operations[O][1]>) =>
          void landing.then(
            (output) => this.#whenAwake(() => resolve(output)),
            (error) => this.#whenAwake(() => reject(error)),
          );
        const fail = () =>
          this.#whenAwake(() => reject(new AwsServiceError({ message: 'No answer.', code: 'TimeoutError' })));
        const later = (work: () => void) => void world.after(random.int(1, random.pick(lateMaxMs)), work);
        const unheard = () => void land().catch(() => undefined);
        // A process that has ended or is frozen sends nothing.
        const send = () => {
          if (!isFaulty) return answer(land());
          if (!random.chance(faultChance))
            return void world.after(random.chance(0.3) ? random.int(1, slowMaxMs) : 0, () => answer(land()));
          switch (random.int(0, 8)) {
            case 0:
              return fail();
            case 1:
              return void land().then(fail, fail);
            case 2:
              later(unheard);
              return fail();
            case 3:
              later(unheard);
              return answer(land());
            case 4:
              return later(() => answer(land()));
            case 5:
              return later(() => this.#whenAwake(send));
            case 6:
              if (random.chance(0.5)) unheard();
              return world.kill(this);
            case 7:
              answer(land());
              return this.freeze(random.int(1_000, freezeMaxMs));
            default:
              this.freeze(random.int(1_000, freezeMaxMs));
              return this.#whenAwake(send);
          }
        };
        this.#whenAwake(send);
      }),
  };

  /** Which term of its own a process has begun, as the table has it. */
  #noteTerm<Output>(input: object, output: Output): Output {
    const {
      Key,
      UpdateExpression,
      ExpressionAttributeValues: values,
    } = input as Partial<Operations['UpdateItem'][0]>;
    if (Key?.['pk'] === queuePartitions.leader && UpdateExpression?.includes('#number'))
      this.number = Number(values?.[':number']);
    return output;
  }
}
