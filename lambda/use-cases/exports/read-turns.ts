/** As many reads as hide the time until a store answers. */
const readsAtOnce = 64;
/** As many bytes as fill a worker's bandwidth meanwhile. */
const readBytesAtOnce = 24 * 1024 ** 2;

/**
 * Lets reads begin in the order in which they come, until enough are under way. If all began at once they would also end
 * at once: nothing would be uploaded until then, and nothing read while all of it is uploaded.
 */
export class ReadTurns {
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = [];
  #reads = 0;
  #bytes = 0;

  /** Runs a read when it is its turn. One that is larger than all that may be under way runs alone. */
  async during(bytes: number, read: () => Promise<void>): Promise<void> {
    await new Promise<void>((begin) => {
      this.#waiting.push({ bytes, begin });
      this.#beginNext();
    });
    try {
      await read();
    } finally {
      this.#reads -= 1;
      this.#bytes -= bytes;
      this.#beginNext();
    }
  }

  #beginNext(): void {
    for (let next = this.#waiting[0]; next && this.#hasRoomFor(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#reads += 1;
      this.#bytes += next.bytes;
      next.begin();
    }
  }

  #hasRoomFor(bytes: number): boolean {
    return this.#reads === 0 || (this.#reads < readsAtOnce && this.#bytes + bytes <= readBytesAtOnce);
  }
}
