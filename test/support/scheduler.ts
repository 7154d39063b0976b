import { setImmediate as macrotask } from 'node:timers/promises';
import type { Random } from './random.ts';

/** A run that did not end within the events that it was given. */
export class EndlessRunError extends Error {
  override readonly name = 'EndlessRunError';
}

interface Event {
  readonly atMs: number;
  /** A random number that orders events of the same moment, so that any order can occur. */
  readonly tie: number;
  readonly run: () => void;
}

/** Events for which the event loop is asked at a time. */
const stepsAtOnce = 256;

/**
 * A discrete-event scheduler with its own clock. It runs one event at a time, and lets everything that the event
 * set free run up to its next wait before the next event begins.
 */
export class Scheduler {
  readonly beganMs = Date.UTC(2026, 0, 1);
  nowMs = this.beganMs;
  events = 0;
  /** Work that Node does outside of its queue of microtasks. Until it is done, no event begins. */
  outside = 0;
  readonly #heap: Event[] = [];
  readonly #random: Random;
  /** An event runs, or what it has set free. */
  #hasBegun = false;

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
   * @throws {EndlessRunError} after `eventsMax` events, and whatever `check` throws.
   */
  async run(options: { eventsMax: number; check?: () => void }): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      let isOver = false;
      const step = () => {
        if (isOver || this.outside > 0) return;
        try {
          isOver = this.#isLastStep(options);
          if (isOver) resolve();
        } catch (error) {
          isOver = true;
          reject(error);
        }
      };
      // Between two callbacks of one turn Node runs all that is ready, and a turn for each event takes longer.
      const turn = () => {
        for (let count = 0; count < stepsAtOnce; count += 1) setImmediate(step);
        if (!isOver) setImmediate(turn);
      };
      turn();
    });
  }

  /** Checks what the last event did, and begins the next one. @returns whether there is none. */
  #isLastStep({ eventsMax, check }: { eventsMax: number; check?: () => void }): boolean {
    if (this.#hasBegun) check?.();
    const event = this.#pop();
    this.#hasBegun = event !== undefined;
    if (event === undefined) return true;
    this.nowMs = Math.max(this.nowMs, event.atMs);
    this.events += 1;
    if (this.events > eventsMax) throw new EndlessRunError(`no end after ${eventsMax} events`);
    event.run();
    return false;
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

/** Runs a task and all that is scheduled for it. @throws what the task throws, or if it does not end. */
export async function runToEnd<T>(scheduler: Scheduler, task: () => Promise<T>): Promise<T> {
  let isOver = false;
  const running = task().finally(() => {
    isOver = true;
  });
  running.catch(() => undefined);
  // A task may have to wait for Node itself before it goes on.
  for (let turn = 0; !isOver && turn < 1000; turn += 1) {
    await scheduler.run({ eventsMax: 100_000 });
    await macrotask();
  }
  if (!isOver) throw new Error('The task did not end.');
  return running;
}
