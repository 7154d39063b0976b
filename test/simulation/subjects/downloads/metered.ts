import { writerAttribute } from '../../../../lambda/subjects/downloads/download-store.ts';
import { Violation } from '../../invariants.ts';

interface Sent {
  readonly bytes: number;
  readonly writeId: string;
}

/** What the batches of one tenant have metered, and what the sum of its month may be. */
export class Metered {
  readonly limitBytes: number | null;
  #least = 0;
  readonly #sent: Sent[] = [];

  constructor(limitBytes: number | null) {
    this.limitBytes = limitBytes;
  }

  /** It is sent. */
  mayBe(sent: Sent): void {
    this.#sent.push(sent);
  }

  /** It was answered. */
  is(bytes: number): void {
    this.#least += bytes;
  }

  /** A write that arrives again is added again if another one took the place of its id in between. */
  get #most(): number {
    const writers = this.#sent.map(({ writeId }) => writerAttribute(writeId));
    const isShared = (writer: string) => writers.filter((other) => other === writer).length > 1;
    return this.#sent.reduce(
      (sum, { bytes }, index) => sum + bytes * (isShared(writers[index] ?? '') ? 2 : 1),
      0,
    );
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
