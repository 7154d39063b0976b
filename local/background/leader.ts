import type { Clock, Log } from '../../lambda/core/rules/clock-and-log.ts';
import { absent, all, setting } from '../../lambda/core/table/expressions.ts';
import { getItem, type Table, updateItem } from '../../lambda/core/table/requests.ts';
import { type Fence, queuePartitions } from './kept.ts';
import { type Repeated, repeat, type Timers } from './schedule.ts';

/** How long a leader that doesn't renew its lease keeps others from leading. */
const leaseMs = 30_000;
const renewMs = 10_000;
/** How often the others look, and a leader tries again after a failure. */
const lookMs = 3_000;

const key = { pk: queuePartitions.leader, sk: 'LEADER' };

/** While it lasts, this process delivers what waits in the queues of a table that several processes share. */
export interface Term extends Fence {
  /** Whether a delivery may start now. */
  isCurrent(): boolean;
  /** Asks the table. If so, the next leader reads after everything that this one wrote before it asked. */
  confirm(): Promise<boolean>;
}

interface LeaderOptions {
  readonly table: Table;
  /** This process. */
  readonly owner: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Time that nobody sets. */
  readonly elapsedMs: () => number;
  /** Starts what the leader does. */
  readonly begin: (term: Term) => Promise<Repeated>;
}

interface OwnTerm extends Term {
  /** By {@link LeaderOptions.elapsedMs}. It ends then, unless its lease was renewed. */
  untilMs: number;
  readonly work: Promise<Repeated | undefined>;
}

/**
 * Of the processes that share a table, one leads at a time: it has the lease in the table.
 *
 * Safety never rests on the lease, as clocks differ and processes freeze: the ledger's conditions, its epochs and the
 * leases of tenants and exports allow any number of deliveries at once. What the leader keeps, it guards by its number.
 * With clocks that differ by a minute, a takeover comes a minute earlier or later.
 */
export class Leader implements Repeated {
  readonly #options: LeaderOptions;
  readonly #looks: Repeated;
  #term: OwnTerm | undefined;
  /** Of earlier terms. Never rejects. */
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: LeaderOptions) {
    this.#options = options;
    this.#looks = repeat(options.timers, 0, () => this.#look());
  }

  /** Ends what the leader does, and then lets another one lead at once. */
  async close(graceMs: number): Promise<void> {
    await this.#looks.close(graceMs);
    const term = this.#term;
    if (term === undefined) return void (await this.#ended);
    this.#end(term, graceMs);
    await this.#ended;
    const { table, log } = this.#options;
    const write = { key, change: [setting({ untilMs: 0 })], condition: '#number = :number' };
    await updateItem(table, { ...write, values: { ':number': term.number } }).catch((error) =>
      log.warn('lease of the queues not given back', { error }),
    );
  }

  /** @returns when to look again. */
  async #look(): Promise<number> {
    try {
      const term = this.#term;
      if (term?.isCurrent()) await this.#renew(term);
      else await this.#take();
      return this.#term === undefined ? lookMs : renewMs;
    } catch (error) {
      this.#options.log.warn('lease of the queues not written', { error });
      return lookMs;
    }
  }

  /** Takes the lease if it has ended, or if it's this process's own: the answer to an earlier try was lost. */
  async #take(): Promise<void> {
    const { table, owner, clock, elapsedMs } = this.#options;
    const item = await getItem(table, key);
    const nowMs = clock.nowMs();
    if (item !== undefined && item['owner'] !== owner && Number(item['untilMs']) > nowMs) return;
    const number = Number(item?.['number'] ?? 0) + 1;
    const untilMs = elapsedMs() + leaseMs;
    const { ok } = await updateItem(table, {
      key,
      change: [setting({ owner, number, untilMs: nowMs + leaseMs })],
      condition: item === undefined ? absent : all('#number = :seen', '#untilMs = :seenUntilMs'),
      values: { ':seen': item?.['number'], ':seenUntilMs': item?.['untilMs'] },
    });
    if (ok) this.#begin(number, untilMs);
  }

  #begin(number: number, untilMs: number): void {
    const { log, elapsedMs, begin } = this.#options;
    const isCurrent = () => {
      if (elapsedMs() >= term.untilMs) this.#end(term);
      return this.#term === term;
    };
    const guarded = {
      number,
      isCurrent,
      confirm: () => this.#renew(term),
      end: () => this.#end(term),
    };
    const work = this.#ended.then(() => (isCurrent() ? begin(guarded) : undefined));
    const term: OwnTerm = { ...guarded, untilMs, work };
    this.#term = term;
    log.info('leads the queues', { number });
    work.catch((error) => {
      log.error('queues not started', { error });
      this.#end(term);
    });
  }

  /** @returns whether this process leads. */
  async #renew(term: OwnTerm): Promise<boolean> {
    const { table, clock, elapsedMs } = this.#options;
    const untilMs = elapsedMs() + leaseMs;
    const { ok } = await updateItem(table, {
      key,
      change: [setting({ untilMs: clock.nowMs() + leaseMs })],
      condition: '#number = :number',
      values: { ':number': term.number },
    });
    if (!ok) this.#end(term);
    else term.untilMs = Math.max(term.untilMs, untilMs);
    return ok && term.isCurrent();
  }

  #end(term: OwnTerm, graceMs = 0): void {
    if (this.#term !== term) return;
    this.#term = undefined;
    this.#options.log.info('leads the queues no more', { number: term.number });
    this.#ended = term.work.then(
      (work) => work?.close(graceMs),
      () => undefined,
    );
  }
}
