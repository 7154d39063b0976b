/** A change that somebody made straight in the bucket. */
interface AroundChange {
  /** The key without its tenant. */
  readonly name: string;
  /** Negative if it was removed, unless it was empty. */
  readonly bytes: number;
  readonly isRemoval: boolean;
  readonly atMs: number;
  /** Whether the store reports it to somebody who notes it. */
  readonly isNoted: boolean;
}

/**
 * What was put or removed around the API, in one tenant. docs/how-it-works.md names it as an exception: only a full listing
 * is certain to count it.
 */
export class AroundChanges {
  readonly #changes: AroundChange[] = [];

  add(change: AroundChange): void {
    this.#changes.push(change);
  }

  /**
   * Bytes of what was put since, and is still there. Each object counts once.
   *
   * @param start what the names begin with.
   */
  putBytes(stored: ReadonlyMap<string, number>, sinceMs: number, start: string): number {
    const names = new Set(
      this.#since(sinceMs)
        .filter(({ isRemoval, name }) => !isRemoval && name.startsWith(start))
        .map(({ name }) => name),
    );
    let sum = 0;
    for (const name of names) sum += stored.get(name) ?? 0;
    return sum;
  }

  removedBytes(sinceMs: number, start: string): number {
    return this.#since(sinceMs)
      .filter(({ name }) => name.startsWith(start))
      .reduce((sum, { bytes }) => sum + Math.max(0, -bytes), 0);
  }

  /** Whether this object was put since. */
  isPut(name: string, sinceMs: number): boolean {
    return this.#since(sinceMs).some((change) => change.name === name && !change.isRemoval);
  }

  /** Whether this object was removed since. */
  isRemoved(name: string, sinceMs: number): boolean {
    return this.#since(sinceMs).some((change) => change.name === name && change.isRemoval);
  }

  /** Whether anything changed since that nobody noted. */
  hasUnnoted(sinceMs: number): boolean {
    return this.#since(sinceMs).some(({ isNoted }) => !isNoted);
  }

  /** Of what was ever put, how many objects are still there. */
  putCount(stored: ReadonlyMap<string, number>): number {
    const put = this.#changes.filter(({ name, isRemoval }) => !isRemoval && stored.has(name));
    return new Set(put.map(({ name }) => name)).size;
  }

  #since(sinceMs: number): readonly AroundChange[] {
    return this.#changes.filter(({ atMs }) => atMs >= sinceMs);
  }
}
