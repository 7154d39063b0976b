import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** A request with a larger body, such as a batch of some hundred objects, lets others pass. */
const smallBodyBytesMax = 16 * 1024;
/** How long it does so between two pieces of its work, so that it ends however many others there are. */
const waitMaxMs = 20;

/** A request, from the call of its function until that has answered. */
interface Running {
  readonly isSmall: boolean;
  isOver: boolean;
  /** How often it asked for a turn in a series, and the last pause of that. */
  asked: number;
  paused: Promise<void>;
}

const noPause = Promise.resolve();

/**
 * Decides whose turn it is on the one thread of the embedded stack. On AWS each request has a container of its own; here
 * the parsing and signing of a batch of 1,000 objects would keep every other request waiting.
 *
 * Work for a large request, and work that no request waits for, is done in pieces. Between two of them it pauses: until
 * no small request is running, and for at most some milliseconds.
 */
export class Turns {
  readonly #running = new AsyncLocalStorage<Running>();
  readonly #paused = new Set<() => void>();
  #small = 0;
  #isReleasing = false;

  /** Runs the function of a request. What it starts, and what goes on after it, knows whose work it is. */
  async during<T>(request: { bodyBytes: number }, work: () => Promise<T>): Promise<T> {
    const running: Running = {
      isSmall: request.bodyBytes <= smallBodyBytesMax,
      isOver: false,
      asked: 0,
      paused: noPause,
    };
    if (running.isSmall) this.#small += 1;
    try {
      return await this.#running.run(running, work);
    } finally {
      running.isOver = true;
      if (running.isSmall) this.#small -= 1;
      this.#release();
    }
  }

  /** To be awaited between two pieces of work. Each should take some milliseconds at most. */
  async pause(): Promise<void> {
    const running = this.#running.getStore();
    if (running?.isSmall && !running.isOver) return;
    await nextTurn();
    if (this.#small === 0) return;
    await new Promise<void>((resolve) => {
      const goOn = () => {
        clearTimeout(timer);
        this.#paused.delete(goOn);
        resolve();
      };
      const timer = setTimeout(goOn, waitMaxMs);
      this.#paused.add(goOn);
    });
  }

  /**
   * As {@link Turns.pause}, for a series of short pieces that a request begins all at once: one pause after so many of
   * them. Each piece waits for the pauses of those before it.
   */
  async pauseAfter(pieces: number): Promise<void> {
    const running = this.#running.getStore();
    if (running === undefined || running.isSmall) return;
    running.asked += 1;
    if (running.asked % pieces === 0) running.paused = running.paused.then(() => this.pause());
    await running.paused;
  }

  /** Lets one after the other go on, each in a turn of its own, as long as no small request comes. */
  #release(): void {
    if (this.#isReleasing || this.#small > 0) return;
    const [goOn] = this.#paused;
    if (goOn === undefined) return;
    this.#isReleasing = true;
    goOn();
    setImmediate(() => {
      this.#isReleasing = false;
      this.#release();
    });
  }
}
