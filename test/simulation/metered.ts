import { Violation } from './invariants.ts';

/** What the batches of one tenant have metered, and what the sum of its month may be. */
export class Metered {
  readonly limitBytes: number | null;
  #least = 0;
  #most = 0;

  constructor(limitBytes: number | null) {
    this.limitBytes = limitBytes;
  }

  /** It is sent. */
  mayBe(bytes: number): void {
    this.#most += bytes;
  }

  /** It was answered. */
  is(bytes: number): void {
    this.#least += bytes;
  }

  /** The limit is reached. */
  checkRefusal(bytes: number): void {
    if (this.limitBytes === null || this.#most <= this.limitBytes)
      throw new Violation(
        `Downloads: ${bytes} bytes were refused, and at most ${this.#most - bytes} of ${this.limitBytes} offered`,
      );
  }

  /** Checked at rest. */
  checkMonth(bytes: number): void {
    if (bytes < this.#least || bytes > this.#most)
      throw new Violation(
        `Downloads: ${bytes} bytes in the month, and ${this.#least} to ${this.#most} metered`,
      );
  }
}
