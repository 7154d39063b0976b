/** Ids that are remembered, at most. Beyond that, some are sent again, and the queue drops them. */
const idsMax = 1000;

/**
 * The deduplication ids that this process has sent. The queue remembers an id for five minutes and drops what comes with
 * it again, but bills for it. An id names a time of 30 seconds, so it is not asked for any later.
 */
export class SentIds {
  readonly #ids = new Set<string>();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Only once the queue has accepted the message: one that was lost must be sent again. */
  add(id: string): void {
    if (this.#ids.size >= idsMax) this.#ids.clear();
    this.#ids.add(id);
  }
}
