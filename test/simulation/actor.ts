import { AwsServiceError, LedgerUnavailableError } from '../../lambda/core/rules/errors.ts';
import { StoreUnavailableError } from '../../lambda/core/store/rules/store.ts';
import type { Random } from '../support/random.ts';
import type { Scheduler } from '../support/scheduler.ts';
import type { Mishap, Mishaps, PortCall } from './mishaps.ts';

export const usualLateMaxMs = 20_000;
/** How long a slow page takes at most: that of a ledger with very many items, or of a store that is throttled. */
const slowPageMaxMs = 30_000;
const slowPages = 0.1;

/** How often things go wrong. Each number is a probability per operation, unless it says otherwise. */
export interface Mix {
  readonly name: string;
  /** The operation is refused before it changes anything. */
  readonly fail: number;
  /** The operation happens, but its answer is lost, and so are the answers to the SDK's retries. */
  readonly lostAnswer: number;
  /** The SDK retries after a lost answer, so the write happens twice in a row. */
  readonly twice: number;
  /** An earlier attempt of the same write happens a second time, later. */
  readonly late: number;
  /** By how much at most. Default: 20 s. */
  readonly lateMaxMs?: number;
  /** Nobody answers, and the write happens as much later. Default: never. */
  readonly givenUp?: number;
  /** The function is frozen between two operations. */
  readonly freeze: number;
  /** The function dies between two operations. Probability per invocation. */
  readonly kill: number;
  /** The largest error of a function's clock, either way. */
  readonly skewMs: number;
}

export interface Tally {
  operations: number;
  kills: number;
  faults: number;
  lateWrites: number;
  freezes: number;
}

export interface Weather {
  /** Faults stop when it is calm, so that a run can end. */
  calm: boolean;
  /** How many outages are not over: of the store, of the table, and of the service's own files in the store. */
  readonly outages: { store: number; table: number; files: number };
}

/** `read` and `write`: of the table. `queue`: a write to the queue. `file`: of the service's own, in the store. */
type OperationKind = 'read' | 'write' | 'queue' | 'store' | 'file';

interface ActorWorld {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly mix: Mix;
  readonly tally: Tally;
  readonly weather: Weather;
  readonly mishaps: Mishaps;
  /** Whether some pages of reads and listings take long, and some deletes last until their deadline. */
  readonly isSlow: boolean;
}

/** One invocation of a function. It has its own clock error, meets its own faults, and may be killed. */
export class Actor {
  readonly #world: ActorWorld;
  readonly #skewMs: number;
  #stepsToLive: number;
  killed = false;
  onDeath: () => void = () => undefined;

  constructor(world: ActorWorld) {
    this.#world = world;
    const { random, mix, weather } = world;
    this.#skewMs = Math.round((random.next() * 2 - 1) * mix.skewMs);
    this.#stepsToLive =
      !weather.calm && random.chance(mix.kill) ? random.int(1, 30) : Number.POSITIVE_INFINITY;
  }

  nowMs(): number {
    return this.#world.scheduler.nowMs + this.#skewMs;
  }

  /** Kills it now: nothing that it waits for ever arrives. */
  kill(): void {
    if (this.killed) return;
    this.#world.tally.kills += 1;
    this.killed = true;
    this.onDeath();
  }

  sleep(durationMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.scheduler.after(durationMs, () => {
        if (!this.killed) resolve();
      });
    });
  }

  /** Waits before a write is tried again. */
  pauseUpTo(atMostMs: number): Promise<void> {
    return this.sleep(this.#world.random.int(0, atMostMs));
  }

  /** Decides by chance whether this fault happens now. */
  isUnlucky(fault: 'fail' | 'lostAnswer' | 'twice' | 'late' | 'givenUp' | 'freeze'): boolean {
    const { random, mix, weather } = this.#world;
    return !weather.calm && random.chance(mix[fault] ?? 0);
  }

  /** What takes long in a slow world now. @param maxMs at most. @returns before and after it takes effect. */
  #slowness(maxMs: number, chance: number): readonly [beforeMs: number, afterMs: number] {
    const { random, weather, isSlow } = this.#world;
    if (!isSlow || weather.calm || maxMs <= 0 || !random.chance(chance)) return [0, 0];
    const allMs = random.int(1, maxMs);
    const beforeMs = random.int(0, allMs);
    return [beforeMs, allMs - beforeMs];
  }

  /** One page of a read of the table, or of a listing. In a slow world it may take half a minute. */
  async page<T>(kind: 'read' | 'store', apply: () => Promise<T>, call?: PortCall): Promise<T> {
    return this.operation(kind, () => this.slowly(slowPageMaxMs, slowPages, apply), call);
  }

  /** Takes up to so long in a slow world, before or after it takes effect. */
  async slowly<T>(maxMs: number, chance: number, apply: () => Promise<T>): Promise<T> {
    const [beforeMs, afterMs] = this.#slowness(maxMs, chance);
    if (beforeMs > 0) await this.sleep(beforeMs);
    const result = await apply();
    if (afterMs > 0) await this.sleep(afterMs);
    return result;
  }

  /**
   * One operation on a port: the request travels, takes effect, and the answer travels back. Each step can fail.
   *
   * @param call if a story may have something happen to it.
   */
  async operation<T>(kind: OperationKind, apply: () => Promise<T>, call?: PortCall): Promise<T> {
    const { random, tally, scheduler } = this.#world;
    tally.operations += 1;
    const mishap = call && this.#mishapOf(call);
    if (mishap?.kind === 'dies-before') this.kill();
    await this.#travel();
    if (mishap?.kind === 'freezes-before') await this.sleep(mishap.forMs);
    const { store, table, files } = this.#world.weather.outages;
    const outages = { store, file: store + files, read: table, write: table, queue: table };
    if (outages[kind] > 0) throw this.#unavailable(kind, 'It does not answer.');
    if (this.isUnlucky('fail')) throw this.#unavailable(kind, 'Throttled.');
    const { lateMaxMs = usualLateMaxMs, givenUp = 0 } = this.#world.mix;
    const isWrite = kind === 'write' || kind === 'queue';
    const isGivenUp = isWrite && givenUp > 0 && this.isUnlucky('givenUp');
    if (isGivenUp || (isWrite && this.isUnlucky('late'))) {
      tally.lateWrites += 1;
      scheduler.after(random.int(1, lateMaxMs), () => void apply().catch(() => undefined));
      if (isGivenUp) throw this.#unavailable(kind, 'It did not answer in time.');
    }
    let result = await apply();
    if (mishap?.kind === 'lands-again')
      scheduler.after(mishap.forMs, () => void apply().catch(() => undefined));
    if (mishap?.kind === 'freezes-after') await this.sleep(mishap.forMs);
    if (isWrite && this.isUnlucky('twice')) result = await apply();
    if (isWrite && this.isUnlucky('lostAnswer')) throw this.#unavailable(kind, 'The answer was lost.');
    await this.#travel();
    return result;
  }

  #mishapOf(call: PortCall): Mishap | undefined {
    const { weather, mishaps } = this.#world;
    return weather.calm ? undefined : mishaps.take(call);
  }

  #unavailable(kind: OperationKind, text: string): Error {
    this.#world.tally.faults += 1;
    if (kind === 'queue') return new LedgerUnavailableError(text);
    return kind === 'read' || kind === 'write'
      ? new AwsServiceError({ message: text, code: 'ServiceUnavailable' })
      : new StoreUnavailableError(text);
  }

  #travel(): Promise<void> {
    const { random, tally, weather } = this.#world;
    this.#stepsToLive -= 1;
    if (this.#stepsToLive <= 0) this.kill();
    let delayMs = random.int(1, 20);
    if (!weather.calm && random.chance(0.05)) delayMs = random.int(20, 3000);
    if (this.isUnlucky('freeze')) {
      tally.freezes += 1;
      delayMs = random.chance(0.7) ? random.int(1_000, 90_000) : random.int(90_000, 3 * 3_600_000);
    }
    return this.sleep(delayMs);
  }
}
