/** How long a listing is kept. A large pull asks for its next batch within seconds. */
const keptForMs = 60_000;
/** Objects that are kept of all repos together, at most: a few MB. */
export const knownObjectsMax = 20_000;

interface Kept {
  /** oid → bytes. */
  readonly objects: ReadonlyMap<string, number>;
  readonly listedAtMs: number;
}

/**
 * What this process has listed in full a moment ago. A pull of many objects asks for them in batches of 100, one after
 * the other, and one listing answers all.
 *
 * For downloads alone. An object that was deleted meanwhile gets a URL whose GET says 404, as it does when the object
 * is deleted just after the answer. An upload must see what is stored now.
 */
export class KnownObjects {
  /** Path of a repo → its listing, the oldest first. */
  readonly #kept = new Map<string, Kept>();

  keep(path: string, kept: Kept): void {
    this.#kept.delete(path);
    if (kept.objects.size > knownObjectsMax) return;
    this.#kept.set(path, kept);
    let left = [...this.#kept.values()].reduce((sum, { objects }) => sum + objects.size, 0);
    for (const [oldest, { objects }] of this.#kept) {
      if (left <= knownObjectsMax) return;
      left -= objects.size;
      this.#kept.delete(oldest);
    }
  }

  /** @returns oid → bytes. Undefined: it was not listed, or too long ago. */
  of(path: string, nowMs: number): ReadonlyMap<string, number> | undefined {
    const kept = this.#kept.get(path);
    if (!kept || nowMs - kept.listedAtMs <= keptForMs) return kept?.objects;
    this.#kept.delete(path);
    return undefined;
  }
}
