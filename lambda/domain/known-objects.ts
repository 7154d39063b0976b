/** How long a listing is kept. A large push or pull asks for its next batch within seconds. */
const keptForMs = 60_000;
/** Objects that are kept of all repos together, at most: a few MB. */
export const knownObjectsMax = 20_000;

/** What a repo had. */
interface Listing {
  /** oid → bytes. */
  readonly objects: ReadonlyMap<string, number>;
  readonly listedAtMs: number;
}

interface Kept extends Listing {
  /** Objects for which this process has handed out upload URLs. They may be stored by now. */
  readonly offered: Set<string>;
}

/**
 * What this process has listed in full a moment ago. Pushes and pulls of many objects ask for them in batches of 100,
 * one after the other, and one listing answers all that an old one may answer: see who uses it.
 */
export class KnownObjects {
  /** Path of a repo → its listing, the oldest first. */
  readonly #kept = new Map<string, Kept>();

  keep(path: string, listing: Listing): void {
    const offered = this.#kept.get(path)?.offered ?? new Set();
    this.#kept.delete(path);
    for (const oid of listing.objects.keys()) offered.delete(oid);
    this.#kept.set(path, { ...listing, offered });
    this.#trim();
  }

  /** Notes that upload URLs for these objects are handed out. */
  offer(path: string, oids: Iterable<string>): void {
    const kept = this.#kept.get(path);
    if (!kept) return;
    for (const oid of oids) kept.offered.add(oid);
    this.#trim();
  }

  /**
   * @param withinMs how old the listing may be, at most. Default: as old as any that is kept.
   * @returns oid → bytes of what was stored. Undefined: it was not listed, or too long ago.
   */
  of(path: string, nowMs: number, withinMs = keptForMs): ReadonlyMap<string, number> | undefined {
    const kept = this.#find(path, nowMs);
    return kept && nowMs - kept.listedAtMs <= withinMs ? kept.objects : undefined;
  }

  /** What was listed has been deleted since, or is about to be. */
  forget(path: string): void {
    this.#kept.delete(path);
  }

  /** Whether a listing had not this object, and this process has handed out no URL for it. */
  lacks(path: string, oid: string, nowMs: number): boolean {
    const kept = this.#find(path, nowMs);
    return kept !== undefined && !kept.objects.has(oid) && !kept.offered.has(oid);
  }

  #find(path: string, nowMs: number): Kept | undefined {
    const kept = this.#kept.get(path);
    if (!kept || nowMs - kept.listedAtMs <= keptForMs) return kept;
    this.#kept.delete(path);
    return undefined;
  }

  #trim(): void {
    const sizeOf = ({ objects, offered }: Kept) => objects.size + offered.size;
    let left = [...this.#kept.values()].reduce((sum, kept) => sum + sizeOf(kept), 0);
    for (const [oldest, kept] of this.#kept) {
      if (left <= knownObjectsMax) return;
      left -= sizeOf(kept);
      this.#kept.delete(oldest);
    }
  }
}
