import { LedgerUnavailableError } from '../../lambda/ports/ledger.ts';
import { StoreUnavailableError } from '../../lambda/ports/object-store.ts';
import type { Random } from '../support/random.ts';
import type { Scheduler } from '../support/scheduler.ts';

/** How badly the world behaves: each a probability for one operation, unless it says otherwise. */
export interface Mix {
  readonly name: string;
  /** Refused before anything happened. */
  readonly fail: number;
  /** Happened, but the answer was lost beyond the SDK's retries. */
  readonly lostAnswer: number;
  /** The SDK retried after a lost answer: lands twice at once. */
  readonly twice: number;
  /** An earlier attempt of the same write lands long after. */
  readonly late: number;
  /** The function is frozen between two steps. */
  readonly freeze: number;
  /** The function dies between two steps; for a whole function. */
  readonly kill: number;
  /** Largest error of a function's clock. */
  readonly skewMs: number;
}

export interface Tally {
  operations: number;
  kills: number;
  faults: number;
  lateWrites: number;
  freezes: number;
}

/** Faults can be switched off, so that a run can end in peace. */
export interface Weather {
  calm: boolean;
}

/** One invocation of a function: its own clock, its own luck, and possibly its death. */
export class Actor {
  readonly #world: { scheduler: Scheduler; random: Random; mix: Mix; tally: Tally; weather: Weather };
  readonly #skewMs: number;
  #stepsToLive: number;
  killed = false;
  onDeath: () => void = () => undefined;

  constructor(world: { scheduler: Scheduler; random: Random; mix: Mix; tally: Tally; weather: Weather }) {
    this.#world = world;
    const { random, mix, weather } = world;
    this.#skewMs = Math.round((random.next() * 2 - 1) * mix.skewMs);
    this.#stepsToLive =
      !weather.calm && random.chance(mix.kill) ? random.int(1, 30) : Number.POSITIVE_INFINITY;
  }

  nowMs(): number {
    return this.#world.scheduler.nowMs + this.#skewMs;
  }

  /** Dies now: whatever it waits for never comes. */
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

  /** Whether a fault of the mix strikes now. */
  isUnlucky(fault: 'fail' | 'lostAnswer' | 'twice' | 'late' | 'freeze'): boolean {
    const { random, mix, weather } = this.#world;
    return !weather.calm && random.chance(mix[fault]);
  }

  /** One operation on a port: travels, happens, and its answer travels back; each of it can go wrong. */
  async operation<T>(kind: 'read' | 'write' | 'store', apply: () => Promise<T>): Promise<T> {
    const { random, tally, scheduler } = this.#world;
    tally.operations += 1;
    await this.#travel();
    const unavailable = (text: string) => {
      tally.faults += 1;
      return kind === 'store' ? new StoreUnavailableError(text) : new LedgerUnavailableError(text);
    };
    if (this.isUnlucky('fail')) throw unavailable('Throttled.');
    if (kind === 'write' && this.isUnlucky('late')) {
      tally.lateWrites += 1;
      scheduler.after(random.int(1, 20_000), () => void apply().catch(() => undefined));
    }
    let result = await apply();
    if (kind === 'write' && this.isUnlucky('twice')) result = await apply();
    if (kind === 'write' && this.isUnlucky('lostAnswer')) throw unavailable('The answer was lost.');
    await this.#travel();
    return result;
  }

  async #travel(): Promise<void> {
    const { random, tally, weather } = this.#world;
    this.#stepsToLive -= 1;
    if (this.#stepsToLive <= 0) this.kill();
    let delayMs = random.int(1, 20);
    if (!weather.calm && random.chance(0.05)) delayMs = random.int(20, 3000);
    if (this.isUnlucky('freeze')) {
      tally.freezes += 1;
      delayMs = random.chance(0.7) ? random.int(1_000, 90_000) : random.int(90_000, 3 * 3_600_000);
    }
    await this.sleep(delayMs);
  }
}
