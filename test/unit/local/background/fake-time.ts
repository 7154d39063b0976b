import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../../lambda/core/rules/clock-and-log.ts';
import type { Timers } from '../../../../local/background/schedule.ts';

/** A clock and its timers, advanced by the test. */
export class FakeTime implements Timers {
  #nowMs = 1_000_000;
  readonly #timers = new Set<{ atMs: number; callback: () => void }>();

  readonly clock: Clock = {
    nowMs: () => this.#nowMs,
    sleep: (durationMs) => new Promise((resolve) => void this.after(durationMs, resolve)),
  };

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Advances the time timer by timer. What a timer starts runs until it waits for time again. */
  async advance(durationMs: number): Promise<void> {
    const untilMs = this.#nowMs + durationMs;
    await settle();
    for (;;) {
      const [next] = [...this.#timers].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.callback();
      await settle();
    }
    this.#nowMs = untilMs;
  }
}

/** Enough turns of the event loop for chains of promises that wait for nothing else. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1) await nextTurn();
}
