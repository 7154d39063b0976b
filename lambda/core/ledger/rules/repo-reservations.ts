import { isOid } from '../../rules/names.ts';
import {
  isLapsed,
  nextLookMs,
  type Reservation,
  type UnconfirmedRemainder,
  unconfirmedUntilMs,
} from './reservation.ts';

/**
 * Ids that a repo keeps of the reservations that its scan covered, at most. DynamoDB takes no item above 400 KB, which
 * 12,400 ids would fill, and then no reconcile could be committed. Leaving one out is safe: the repo is scanned once
 * more.
 */
const coveredIdsMax = 5000;

/**
 * An entry that is held for less than this is left out of the confirmed usage. The confirmed usage is valid until the first of its entries
 * may be no longer held. So with one that ends now, as in a stream of uploads that broke off, it would prove nothing.
 */
const confirmedLastsMs = 60_000;

/** A reservation whose entries are those from `from` to before `to` of the columns. */
interface Row
  extends Pick<
    Reservation,
    'id' | 'state' | 'createdAtMs' | 'lapsedAtMs' | 'lookAtMs' | 'deletedByMs' | 'madeBy'
  > {
  readonly from: number;
  readonly to: number;
}

/** What the reservations of a repo may still bring, on top of what is counted. */
interface OpenEntries {
  /** Of live reservations. */
  readonly live: EntrySums;
  /** Of unconfirmed ones, for objects that no live one claims. */
  readonly unconfirmed: EntrySums;
  /** Who made them → the part of `late.mostBytes`, each object for one of them. */
  readonly unconfirmedBy: ReadonlyMap<string, UnconfirmedShare>;
  /** Who made them → how many there are, live and late, and when the last is over. */
  readonly countBy: ReadonlyMap<string, OpenScan>;
  /** When the newest live one was created whose URLs were handed out, and not all used. null: there is none. */
  readonly newestIssuedMs: number | null;
}

/** What somebody claimed, and is late. */
export interface UnconfirmedShare {
  readonly bytes: number;
  /** When none of it is late any more. */
  readonly untilMs: number;
}

/** Claims of somebody that have not arrived. */
export interface OpenScan {
  readonly entries: number;
  readonly untilMs: number;
}

/** What becomes of a lapsed reservation once the scan of its repo is committed. */
export type Settlement =
  | { readonly kind: 'delete'; readonly reservationId: string }
  /** Of files: the URLs of these names are to be ended. It counts in full until then. */
  | { readonly kind: 'end'; readonly reservationId: string; readonly names: ReadonlySet<string> }
  /** It is late: these objects may still arrive. */
  | ({ readonly kind: 'unconfirmed'; readonly reservationId: string } & UnconfirmedRemainder);

/** What one reconcile's scan found in a repo. */
export interface RepoScan {
  readonly storedBytes: number;
  readonly objectCount: number;
  /** What was stored a year before, if the scan told. */
  readonly oldBytes?: number;
  /**
   * The oids that the scan was to look for and saw. That decides whether an entry is counted. A HEAD after the scan
   * would be wrong: it finds objects that landed after it, and the sums don't have their bytes.
   */
  readonly seen: Pick<ReadonlySet<string>, 'has'> & {
    /** Bytes of one. Absent: of a large repo. */
    readonly get?: (name: string) => number | undefined;
  };
  /** Set of a large repo, which is not listed as a whole. */
  readonly large?: {
    /** The oids of which nobody knows whether they have arrived. They count, and their reservations are not settled. */
    readonly unknown: Pick<ReadonlySet<string>, 'has'>;
    /** Names that are being deleted: their reservations are not settled either, for what was seen may go. */
    readonly going: Pick<ReadonlySet<string>, 'has'>;
  };
}

/** What a reconcile knows of a repo. */
export interface ScannedRepo {
  /** undefined: it was not scanned, because its last count still holds, or because its initial scan as a large repo goes on. */
  readonly scan: RepoScan | undefined;
  /** Its last count no longer holds. What was claimed since then may be there. */
  readonly isBehind?: boolean;
  /** Ids of the reservations of which its last scan saw every object. */
  readonly covered: ReadonlySet<string>;
  /** Its URLs are ended: {@link isOfFiles}. So none of its reservations becomes late. */
  readonly isOfFiles?: boolean;
}

/** What live reservations promise of one object. */
export interface Promised {
  /** A URL for it may be in use. */
  readonly isIssued: boolean;
  /** The largest of its entries. */
  readonly largestBytes: number;
}

/**
 * The reservations of one repo. Their entries are kept in columns, because half a million of them would take several
 * hundred MB as maps.
 */
export class RepoReservations {
  readonly #rows: Row[] = [];
  readonly #oids: string[] = [];
  readonly #sizes: number[] = [];
  /** Each once: a million texts would take tens of MB. */
  readonly #makers = new Map<string, string>();
  /** oid → when a delete of the server last began that removed it. */
  readonly #deletedMs = new Map<string, number>();

  add({ entries, ...reservation }: Reservation): void {
    const { id, state, createdAtMs, lapsedAtMs, lookAtMs, deletedByMs, madeBy } = reservation;
    if (madeBy !== undefined && !this.#makers.has(madeBy)) this.#makers.set(madeBy, madeBy);
    const from = this.#oids.length;
    for (const [oid, sizeBytes] of entries) {
      this.#oids.push(oid);
      this.#sizes.push(sizeBytes);
      if (deletedByMs !== undefined)
        this.#deletedMs.set(oid, Math.max(createdAtMs, this.#deletedMs.get(oid) ?? 0));
    }
    this.#rows.push({
      id,
      state,
      createdAtMs,
      lapsedAtMs,
      lookAtMs,
      deletedByMs,
      madeBy: madeBy === undefined ? undefined : this.#makers.get(madeBy),
      from,
      to: this.#oids.length,
    });
  }

  /** The ids of all of them. It goes through all: ask once. */
  ids(): Set<string> {
    return new Set(this.#rows.map(({ id }) => id));
  }

  get count(): number {
    return this.#rows.length;
  }

  get entryCount(): number {
    return this.#oids.length;
  }

  /** Every oid that is claimed, each once. */
  oids(): Set<string> {
    return new Set(this.#oids);
  }

  /** Those that are claimed by another one than the unconfirmed reservation of a delete which ends by `deletedByMs`. */
  oidsBeside(deletedByMs: number): Set<string> {
    const oids = new Set<string>();
    for (const row of this.#rows)
      if (row.deletedByMs !== deletedByMs) for (const [oid] of this.#entriesOf(row)) oids.add(oid);
    return oids;
  }

  /** When the last PUT has ended whose URL is of one of them: the latest is late until then. 0: there is none. */
  putsUntilMs(): number {
    return this.#rows.reduce((latestMs, row) => {
      return row.to > row.from ? Math.max(latestMs, unconfirmedUntilMs(row)) : latestMs;
    }, 0);
  }

  /**
   * Whether the repo must be scanned for one of them: no scan saw all of its objects, and it is not late, or it is to
   * be looked at again by now, or its day is over.
   *
   * Dead ones need a scan as live ones do: their object may have landed after the last scan (without it, the simulator
   * fails in half of its runs).
   */
  needScan(input: { covered: ReadonlySet<string>; nowMs: number }): boolean {
    const { covered, nowMs } = input;
    return this.#rows.some((row) => {
      const isDue = row.lookAtMs === null || nowMs >= row.lookAtMs || nowMs > unconfirmedUntilMs(row);
      return isDue && !covered.has(row.id);
    });
  }

  /**
   * Ids of the reservations for which the repo needs no further scan, because this one saw every object. If there are
   * too many, live ones are kept first: the reconcile deletes the lapsed ones.
   */
  coveredBy(scan: RepoScan, scanBeganMs: number): Set<string> {
    const covered = this.#rows.filter((row) => this.#isSeen(row, { scan, scanBeganMs }));
    const isLast = (row: Row) => Number(isLapsed(row, scanBeganMs));
    covered.sort((a, b) => isLast(a) - isLast(b));
    return new Set(covered.slice(0, coveredIdsMax).map(({ id }) => id));
  }

  /**
   * What they may still bring. If several sizes are claimed for one object, at most one of them is true, and the store
   * accepts no other. So the largest counts, not their sum: a sum would never be too low, but one false size would
   * block the tenant until that reservation is over.
   *
   * @param input.scanned what this reconcile knows of the repo. If it was not scanned, every live reservation is
   * covered, and the unconfirmed ones hold what the last scan did not see.
   */
  openEntries(input: { scanned: ScannedRepo; nowMs: number; clockSkewMs: number }): OpenEntries {
    const { nowMs, clockSkewMs } = input;
    const { scan, covered, isBehind = false, isOfFiles = false } = input.scanned;
    const live = new EntryTally();
    const unconfirmed = new EntryTally();
    const countBy = new Map<string, OpenScan>();
    let newestIssuedMs: number | null = null;
    for (const row of this.#rows) {
      let entries = 0;
      const isUnconfirmed = (!isOfFiles || row.lookAtMs !== null) && isLapsed(row, nowMs);
      const isOver = isLapsed(row, nowMs) && nowMs > unconfirmedUntilMs(row);
      if (!scan && covered.has(row.id)) continue;
      const isUnseen = isBehind && isUnconfirmed && !isLookedAt(row, nowMs);
      const heldUntilMs = isUnconfirmed ? unconfirmedUntilMs(row) : row.lapsedAtMs;
      const certainUntilMs = heldUntilMs - 2 * clockSkewMs;
      for (const [oid, sizeBytes] of this.#entriesOf(row)) {
        if (scan?.seen.has(oid)) continue;
        if (!isUnconfirmed && row.state === 'issued')
          newestIssuedMs = Math.max(row.createdAtMs, newestIssuedMs ?? row.createdAtMs);
        if (isUnseen || scan?.large?.unknown.has(oid)) {
          live.add(oid, { sizeBytes, isIssued: false, isLasting: false, heldUntilMs, certainUntilMs });
          continue;
        }
        if ((scan && isOver) || this.#wasDeleted(row, oid)) continue;
        entries += 1;
        (isUnconfirmed ? unconfirmed : live).add(oid, {
          sizeBytes,
          isIssued: row.state === 'issued',
          isLasting: certainUntilMs > nowMs + confirmedLastsMs,
          heldUntilMs,
          certainUntilMs,
          madeBy: row.madeBy,
        });
      }
      if (row.madeBy !== undefined && entries > 0)
        addCount(countBy, row.madeBy, { entries, untilMs: unconfirmedUntilMs(row) });
    }
    return {
      live: live.sums(),
      unconfirmed: unconfirmed.sums(live),
      unconfirmedBy: unconfirmed.shares(live),
      countBy,
      newestIssuedMs,
    };
  }

  /**
   * What becomes of the lapsed ones. Those that are late and need no look yet stay as they are.
   *
   * A live one keeps all its entries, also those that a scan saw. Two clients can have a URL for one object: once it's
   * deleted, the second PUT would land uncounted (the simulator finds that in most of its runs).
   */
  *settle(input: { scanned: ScannedRepo; scanBeganMs: number }): Iterable<Settlement> {
    const { scanBeganMs } = input;
    const { scan, covered, isOfFiles = false } = input.scanned;
    // Somebody may still use another URL of the name, which ends with that of the last.
    const live = isOfFiles ? this.#rows.filter((row) => !isLapsed(row, scanBeganMs)) : [];
    const liveNames = new Set(live.flatMap((row) => [...this.#entriesOf(row)].map(([name]) => name)));
    for (const row of this.#rows) {
      const { id: reservationId, lookAtMs } = row;
      if (!isLapsed(row, scanBeganMs)) continue;
      if (!scan) {
        if (covered.has(reservationId)) yield { kind: 'delete', reservationId };
        continue;
      }
      // A scan before the time of its look says when that is: the same as before.
      const isEarly = lookAtMs !== null && scanBeganMs < lookAtMs;
      const nextMs = isEarly ? lookAtMs : nextLookMs(row, scanBeganMs);
      // What is late already is from before the repo was deleted and created again. What nobody could end is over after a day.
      const isEndless = isOfFiles && lookAtMs === null && scanBeganMs <= unconfirmedUntilMs(row);
      const names = isEndless ? this.#endless(row, scan) : noNames;
      if (names.size > 0) {
        const unclaimed = [...names].filter((name) => !liveNames.has(name));
        if (unclaimed.length > 0) yield { kind: 'end', reservationId, names: new Set(unclaimed) };
        continue;
      }
      if (this.#isUnknown(row, scan)) {
        yield* this.#settleKnown(row, { scan, scanBeganMs });
        continue;
      }
      if (nextMs === undefined || this.#isSeen(row, { scan, scanBeganMs })) {
        yield { kind: 'delete', reservationId };
        continue;
      }
      if (!saysWhatArrived(row, scanBeganMs)) continue;
      const unseen = this.#unseenOf(row, scan);
      const isSame = nextMs === lookAtMs && unseen.size === row.to - row.from;
      if (isSame) continue;
      const { lapsedAtMs } = row;
      yield { kind: 'unconfirmed', reservationId, unseen, lapsedAtMs, lookAtMs: nextMs };
    }
  }

  /**
   * Of a lapsed one, the objects that are not known to have arrived. The others need no longer be claimed, or a shard that
   * is full of their names would stay full. It is looked at again by the next reconcile.
   */
  *#settleKnown(row: Row, input: { scan: RepoScan; scanBeganMs: number }): Iterable<Settlement> {
    const { scan, scanBeganMs } = input;
    const isGoing = [...this.#entriesOf(row)].some(([oid]) => scan.large?.going.has(oid));
    const unseen = this.#unseenOf(row, scan);
    if (isGoing || unseen.size === row.to - row.from) return;
    const { id: reservationId, lapsedAtMs } = row;
    yield { kind: 'unconfirmed', reservationId, unseen, lapsedAtMs, lookAtMs: scanBeganMs };
  }

  /** What the live ones promise of these objects: oid → promise. */
  promises(input: { oids: ReadonlySet<string>; nowMs: number }): Map<string, Promised> {
    const promises = new Map<string, Promised>();
    for (const row of this.#rows) {
      if (isLapsed(row, input.nowMs)) continue;
      for (const [oid, sizeBytes] of this.#entriesOf(row)) {
        if (!input.oids.has(oid)) continue;
        const before = promises.get(oid);
        promises.set(oid, {
          isIssued: row.state === 'issued' || before?.isIssued === true,
          largestBytes: Math.max(sizeBytes, before?.largestBytes ?? 0),
        });
      }
    }
    return promises;
  }

  /** When the oldest one was created that claims one of these objects. undefined: none does. */
  oldestEntryMs(oids: ReadonlySet<string>): number | undefined {
    let oldestMs: number | undefined;
    for (const row of this.#rows)
      for (const [oid] of this.#entriesOf(row))
        if (oids.has(oid)) oldestMs = Math.min(row.createdAtMs, oldestMs ?? row.createdAtMs);
    return oldestMs;
  }

  /**
   * The objects that a large repo is asked for, one by one, because nobody knows whether they have arrived: those of dead
   * reservations that are to be looked at, and then those of live ones, the newest first.
   *
   * @param input.isCounted whether it is known that an object has arrived.
   * @returns oid → when the oldest of them was created that claims it.
   */
  toAsk(input: {
    nowMs: number;
    isCounted: (oid: string) => boolean;
    isOfFiles?: boolean;
  }): Map<string, number> {
    const { nowMs, isCounted, isOfFiles = false } = input;
    const rows = this.#rows.filter((row) => row.state === 'issued' && isToBeAsked(row, nowMs));
    const lapsed = rows.filter((row) => isLapsed(row, nowMs));
    const live = rows.filter((row) => !isLapsed(row, nowMs)).sort((a, b) => b.createdAtMs - a.createdAtMs);
    const oids = new Map<string, number>();
    for (const row of [...lapsed, ...live])
      for (const [oid] of this.#entriesOf(row))
        if ((isOfFiles || isOid(oid)) && !isCounted(oid))
          oids.set(oid, Math.min(row.createdAtMs, oids.get(oid) ?? row.createdAtMs));
    return oids;
  }

  /** When changes around the API were noted of which no name is known. */
  namelessChanges(): { fromMs: number; untilMs: number }[] {
    const intents = this.#rows.filter((row) => row.from === row.to);
    return intents.map(({ createdAtMs }) => ({ fromMs: createdAtMs, untilMs: createdAtMs }));
  }

  #isUnknown(row: Row, { large }: RepoScan): boolean {
    if (!large) return false;
    for (const [oid] of this.#entriesOf(row)) if (large.unknown.has(oid) || large.going.has(oid)) return true;
    return false;
  }

  #isSeen(row: Row, { scan, scanBeganMs }: { scan: RepoScan; scanBeganMs: number }): boolean {
    if (!saysWhatArrived(row, scanBeganMs)) return false;
    for (const [oid] of this.#entriesOf(row))
      if (!scan.seen.has(oid) && !this.#wasDeleted(row, oid)) return false;
    return true;
  }

  #unseenOf(row: Row, { seen }: RepoScan): Map<string, number> {
    const isUnseen = (oid: string) => !seen.has(oid) && !this.#wasDeleted(row, oid);
    return new Map([...this.#entriesOf(row)].filter(([oid]) => isUnseen(oid)));
  }

  /**
   * Names of which a URL may be used as long as nothing has them. What has no bytes is looked for as in any repo: an empty object
   * at its name could not be told from it.
   */
  #endless(row: Row, scan: RepoScan): ReadonlySet<string> {
    return new Set([...this.#unseenOf(row, scan)].flatMap(([name, bytes]) => (bytes > 0 ? [name] : [])));
  }

  /**
   * Whether the server has deleted an object since the reservation lapsed. So it had arrived, and nobody is held to account for
   * it. That a slow PUT may store it once more is what the delete's own reservation stands for.
   */
  #wasDeleted({ deletedByMs, lapsedAtMs }: Row, oid: string): boolean {
    return deletedByMs === undefined && lapsedAtMs < (this.#deletedMs.get(oid) ?? 0);
  }

  *#entriesOf({ from, to }: Row): Iterable<[oid: string, sizeBytes: number]> {
    for (let index = from; index < to; index += 1) yield [this.#oids[index] ?? '', this.#sizes[index] ?? 0];
  }
}

const noNames: ReadonlySet<string> = new Set();

/** Adds what somebody claimed to what they claimed before. */
export function addCount(counts: Map<string, OpenScan>, madeBy: string, more: OpenScan): void {
  const { entries = 0, untilMs = 0 } = counts.get(madeBy) ?? {};
  counts.set(madeBy, { entries: entries + more.entries, untilMs: Math.max(untilMs, more.untilMs) });
}

/** Whether a late one waits for its next look: its entries are of what was not there at the last one. */
function isLookedAt({ lookAtMs }: Row, nowMs: number): boolean {
  return lookAtMs !== null && nowMs < lookAtMs;
}

/** Late ones wait for their look. Of what is being deleted, the store may still have the old objects. */
function isToBeAsked(row: Row, nowMs: number): boolean {
  if (!saysWhatArrived(row, nowMs)) return false;
  return row.lookAtMs === null || nowMs >= row.lookAtMs || nowMs > unconfirmedUntilMs(row);
}

/** Whether what a scan saw has arrived. Of objects that were being deleted meanwhile, it may have seen the old ones. */
function saysWhatArrived({ deletedByMs }: Row, scanBeganMs: number): boolean {
  return deletedByMs === undefined || scanBeganMs > deletedByMs;
}

/** Sums in which each object counts once. */
export interface EntrySums {
  /** The largest entry of each object. */
  readonly mostBytes: number;
  /** The smallest issued entry of each object, if one is held for long enough: see {@link confirmedLastsMs}. */
  readonly leastBytes: number;
  /** The first moment at which one that `leastBytes` counts no longer does. 2^53 − 1 if it counts none. */
  readonly leastUntilMs: number;
  /** The last moment at which one that `mostBytes` counts is held. 0 if it counts no bytes. */
  readonly mostUntilMs: number;
}

class EntryTally {
  readonly #most = new Map<string, number>();
  readonly #least = new Map<string, number>();
  /** The oids that `leastBytes` counts. */
  readonly #lasting = new Set<string>();
  #leastUntilMs = Number.MAX_SAFE_INTEGER;
  #mostUntilMs = 0;
  /** oid → who claimed most of it. What a delete expects once more may be larger, and nobody claimed that. */
  readonly #madeBy = new Map<string, { madeBy: string; sizeBytes: number }>();
  /** Who → until when the last of what they claimed is held. */
  readonly #heldUntilMs = new Map<string, number>();

  /**
   * @param entry.heldUntilMs when it is no longer counted.
   * @param entry.certainUntilMs the same by the clock that is furthest ahead.
   * @param entry.isLasting that is long enough from now.
   */
  add(
    oid: string,
    entry: {
      sizeBytes: number;
      isIssued: boolean;
      isLasting: boolean;
      heldUntilMs: number;
      certainUntilMs: number;
      madeBy?: string | undefined;
    },
  ): void {
    const { sizeBytes, isIssued, isLasting, heldUntilMs, certainUntilMs, madeBy } = entry;
    if (madeBy !== undefined) {
      if (sizeBytes > (this.#madeBy.get(oid)?.sizeBytes ?? -1)) this.#madeBy.set(oid, { madeBy, sizeBytes });
      this.#heldUntilMs.set(madeBy, Math.max(heldUntilMs, this.#heldUntilMs.get(madeBy) ?? 0));
    }
    if (sizeBytes > 0) this.#mostUntilMs = Math.max(this.#mostUntilMs, heldUntilMs);
    this.#most.set(oid, Math.max(sizeBytes, this.#most.get(oid) ?? 0));
    if (!isIssued) return;
    this.#least.set(oid, Math.min(sizeBytes, this.#least.get(oid) ?? sizeBytes));
    if (!isLasting) return;
    this.#lasting.add(oid);
    this.#leastUntilMs = Math.min(this.#leastUntilMs, certainUntilMs);
  }

  #leastOf(oid: string): number {
    return this.#least.get(oid) ?? Number.MAX_SAFE_INTEGER;
  }

  /** Who claimed what, beyond what `without` counts. */
  shares(without: EntryTally): Map<string, UnconfirmedShare> {
    const shares = new Map<string, UnconfirmedShare>();
    for (const [oid, { madeBy, sizeBytes }] of this.#madeBy) {
      const beyondBytes = Math.max(0, sizeBytes - (without.#most.get(oid) ?? 0));
      const bytes = beyondBytes + (shares.get(madeBy)?.bytes ?? 0);
      shares.set(madeBy, { bytes, untilMs: this.#heldUntilMs.get(madeBy) ?? 0 });
    }
    return shares;
  }

  /** @param without counts already: only what is claimed beyond it is added. */
  sums(without: EntryTally = new EntryTally()): EntrySums {
    let mostBytes = 0;
    let leastBytes = 0;
    for (const [oid, bytes] of this.#most) mostBytes += Math.max(0, bytes - (without.#most.get(oid) ?? 0));
    for (const oid of this.#lasting)
      if (!without.#lasting.has(oid)) leastBytes += Math.min(this.#leastOf(oid), without.#leastOf(oid));
    return { mostBytes, leastBytes, leastUntilMs: this.#leastUntilMs, mostUntilMs: this.#mostUntilMs };
  }
}
