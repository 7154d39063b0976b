import { setImmediate as afterMicrotasks } from 'node:timers/promises';
import type { Random } from '../support/random.ts';
import { Violation } from './violation.ts';

interface Event {
  readonly atMs: number;
  /** Breaks ties by chance, so that what is due at the same moment comes in any order. */
  readonly tie: number;
  readonly run: () => void;
}

/**
 * A discrete-event scheduler with a clock of its own: nothing happens but one event at a time, and between
 * two events everything that became possible has run up to its next wait.
 */
export class Scheduler {
  nowMs = Date.UTC(2026, 0, 1);
  events = 0;
  readonly #heap: Event[] = [];
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  after(delayMs: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ atMs: this.nowMs + delayMs, tie: this.#random.next(), run });
    let child = heap.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#earlier(child, parent)) break;
      this.#swap(child, parent);
      child = parent;
    }
  }

  /**
   * Runs until nothing is left to happen, calling `check` after each event.
   * @throws what `check` throws; a Violation after `eventsMax`, since a run that never ends is one too.
   */
  async run(options: { eventsMax: number; check: () => void }): Promise<void> {
    for (let event = this.#pop(); event; event = this.#pop()) {
      this.nowMs = Math.max(this.nowMs, event.atMs);
      this.events += 1;
      if (this.events > options.eventsMax)
        throw new Violation(`I6: no end after ${options.eventsMax} events`);
      event.run();
      await afterMicrotasks();
      options.check();
    }
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    heap[0] = last;
    let parent = 0;
    for (;;) {
      let least = parent;
      for (const child of [2 * parent + 1, 2 * parent + 2]) {
        if (child < heap.length && this.#earlier(child, least)) least = child;
      }
      if (least === parent) return first;
      this.#swap(parent, least);
      parent = least;
    }
  }

  #earlier(a: number, b: number): boolean {
    const [x, y] = [this.#heap[a], this.#heap[b]];
    if (!x || !y) return false;
    return x.atMs < y.atMs || (x.atMs === y.atMs && x.tie < y.tie);
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#heap[a], this.#heap[b]];
    if (x && y) {
      this.#heap[a] = y;
      this.#heap[b] = x;
    }
  }
}
