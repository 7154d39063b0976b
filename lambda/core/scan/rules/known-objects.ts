import type { Settings } from '../../rules/settings.ts';
import { pageKeysMax } from '../../store/rules/store.ts';

/** A scan whose hint is right needs so many more requests than full pages. */
const splitOverhead = 1.07;

/**
 * How many LIST requests may find out which of some objects of a repo are stored: no more than cost as much as a HEAD for
 * each. 0: HEADs are cheaper.
 *
 * @param input.objectCount how many objects are asked for.
 * @param input.repoObjects how many the repo had when it was last counted. undefined: it never was, so one page finds
 * out whether it is small.
 */
export function listsToAsk(
  { headsPerList }: Pick<Settings, 'headsPerList'>,
  input: { objectCount: number; repoObjects: number | undefined },
): number {
  const { objectCount, repoObjects } = input;
  const affordable = Math.floor(objectCount / headsPerList);
  if (repoObjects === undefined) return Math.min(1, affordable);
  const pages = Math.max(1, Math.ceil((splitOverhead * repoObjects) / pageKeysMax));
  return pages <= affordable ? affordable : 0;
}

/** Time of a listing beyond which a store is asked by HEAD. */
const slowListingMs = 1000;
/** How long it is asked by HEAD then. */
const slowForMs = 10 * 60_000;

/** How fast the store has listed in this process. Some stores take seconds for a page that takes S3 a tenth of one. */
export class ListingPace {
  #slowUntilMs = 0;

  /** Notes how long a listing took, or that it failed. */
  note(tookMs: number, nowMs: number): void {
    if (tookMs > slowListingMs) this.#slowUntilMs = nowMs + slowForMs;
  }

  isSlow(nowMs: number): boolean {
    return nowMs < this.#slowUntilMs;
  }
}

/** How long a listing is kept. A large push or pull asks for its next batch within seconds. */
const keptForMs = 60_000;
/** Objects that are kept of all repos together, at most: a few MB. A repo with none counts as one. */
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
  /** All of them together: see {@link sizeOf}. */
  #size = 0;

  keep(path: string, listing: Listing): void {
    const offered = this.#kept.get(path)?.offered ?? new Set();
    this.forget(path);
    for (const oid of listing.objects.keys()) offered.delete(oid);
    const kept = { ...listing, offered };
    this.#kept.set(path, kept);
    this.#size += sizeOf(kept);
    this.#trim();
  }

  /** Notes that upload URLs for these objects are handed out. */
  offer(path: string, oids: Iterable<string>): void {
    const kept = this.#kept.get(path);
    if (!kept) return;
    const before = sizeOf(kept);
    for (const oid of oids) kept.offered.add(oid);
    this.#size += sizeOf(kept) - before;
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
    const kept = this.#kept.get(path);
    if (!kept) return;
    this.#kept.delete(path);
    this.#size -= sizeOf(kept);
  }

  /** Whether a listing had not this object, and this process has handed out no URL for it. */
  lacks(path: string, oid: string, nowMs: number): boolean {
    const kept = this.#find(path, nowMs);
    return kept !== undefined && !kept.objects.has(oid) && !kept.offered.has(oid);
  }

  #find(path: string, nowMs: number): Kept | undefined {
    const kept = this.#kept.get(path);
    if (!kept || nowMs - kept.listedAtMs <= keptForMs) return kept;
    this.forget(path);
    return undefined;
  }

  #trim(): void {
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= knownObjectsMax) return;
      this.forget(oldest);
    }
  }
}

/** What it adds to the bound. An empty one takes a place too: else there would be no end of new repos. */
function sizeOf({ objects, offered }: Kept): number {
  return Math.max(1, objects.size + offered.size);
}
