import { isOid } from '../../rules/names.ts';
import { isDead, type LateRemainder, lateUntilMs, nextLookMs, type Reservation } from './reservation.ts';

/**
 * Ids that a repo keeps of the reservations that its scan covered, at most. DynamoDB takes no item above 400 KB, which
 * 12,400 ids would fill, and then no recount could be committed. Leaving one out is safe: the repo is scanned once
 * more.
 */
const coveredIdsMax = 5000;

/**
 * A claim that is held for less than this is left out of the floor. The floor is valid until the first of its claims
 * may be no longer held. So with one that ends now, as in a stream of uploads that broke off, it would prove nothing.
 */
const floorLastsMs = 60_000;

/** A reservation whose claims are those from `from` to before `to` of the columns. */
interface Row
  extends Pick<
    Reservation,
    'id' | 'state' | 'createdAtMs' | 'deadAtMs' | 'lookAtMs' | 'deletedByMs' | 'madeBy'
  > {
  readonly from: number;
  readonly to: number;
}

/** What the reservations of a repo may still bring, on top of what is counted. */
interface OpenClaims {
  /** Of live reservations. */
  readonly live: ClaimSums;
  /** Of late ones, for objects that no live one claims. */
  readonly late: ClaimSums;
  /** Who made them → the part of `late.mostBytes`, each object for one of them. */
  readonly lateBy: ReadonlyMap<string, LateShare>;
  /** Who made them → how many there are, live and late, and when the last is over. */
  readonly countBy: ReadonlyMap<string, OpenCount>;
  /** When the newest live one was created whose URLs were handed out, and not all used. null: there is none. */
  readonly newestIssuedMs: number | null;
}

/** What somebody claimed, and is late. */
export interface LateShare {
  readonly bytes: number;
  /** When none of it is late any more. */
  readonly untilMs: number;
}

/** Claims of somebody that have not arrived. */
export interface OpenCount {
  readonly claims: number;
  readonly untilMs: number;
}

/** What becomes of a dead reservation once the scan of its repo is committed. */
export type Settlement =
  | { readonly kind: 'delete'; readonly reservationId: string }
  /** It is late: these objects may still arrive. */
  | ({ readonly kind: 'late'; readonly reservationId: string } & LateRemainder);

/** What one reconcile's scan found in a repo. */
export interface RepoScan {
  readonly storedBytes: number;
  readonly objectCount: number;
  /**
   * The oids that the scan was to look for and saw. That decides whether a claim is counted. A HEAD after the scan
   * would be wrong: it finds objects that landed after it, and the sums don't have their bytes.
   */
  readonly seen: Pick<ReadonlySet<string>, 'has'>;
  /** Set of a giant repo, which is not listed as a whole. */
  readonly giant?: {
    /** The oids of which nobody knows whether they have arrived. They count, and their reservations are not settled. */
    readonly unknown: Pick<ReadonlySet<string>, 'has'>;
    /** Names that are being deleted: their reservations are not settled either, for what was seen may go. */
    readonly going: Pick<ReadonlySet<string>, 'has'>;
  };
}

/** What a reconcile knows of a repo. */
export interface CountedRepo {
  /** undefined: it was not scanned, because its last count still holds, or because its first count as a giant goes on. */
  readonly scan: RepoScan | undefined;
  /** Its last count no longer holds. What was claimed since then may be there. */
  readonly isBehind?: boolean;
  /** Ids of the reservations of which its last scan saw every object. */
  readonly covered: ReadonlySet<string>;
}

/** What live reservations promise of one object. */
export interface Promised {
  /** A URL for it may be in use. */
  readonly isIssued: boolean;
  /** The largest of its claims. */
  readonly largestBytes: number;
}

/**
 * The reservations of one repo. Their claims are kept in columns, because half a million of them would take several
 * hundred MB as maps.
 */
export class RepoReservations {
  readonly #rows: Row[] = [];
  readonly #oids: string[] = [];
  readonly #sizes: number[] = [];
  /** Each once: a million texts would take tens of MB. */
  readonly #makers = new Map<string, string>();

  add({ claims, ...reservation }: Reservation): void {
    const { id, state, createdAtMs, deadAtMs, lookAtMs, deletedByMs, madeBy } = reservation;
    if (madeBy !== undefined && !this.#makers.has(madeBy)) this.#makers.set(madeBy, madeBy);
    const from = this.#oids.length;
    for (const [oid, sizeBytes] of claims) {
      this.#oids.push(oid);
      this.#sizes.push(sizeBytes);
    }
    this.#rows.push({
      id,
      state,
      createdAtMs,
      deadAtMs,
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

  get claimCount(): number {
    return this.#oids.length;
  }

  /** Every oid that is claimed, each once. */
  oids(): Set<string> {
    return new Set(this.#oids);
  }

  /** Those that are claimed by another one than the late reservation of a delete which ends by `deletedByMs`. */
  oidsBeside(deletedByMs: number): Set<string> {
    const oids = new Set<string>();
    for (const row of this.#rows)
      if (row.deletedByMs !== deletedByMs) for (const [oid] of this.#claimsOf(row)) oids.add(oid);
    return oids;
  }

  /** When the last PUT has ended whose URL is of one of them: the latest is late until then. 0: there is none. */
  putsUntilMs(): number {
    return this.#rows.reduce((latestMs, row) => {
      return row.to > row.from ? Math.max(latestMs, lateUntilMs(row)) : latestMs;
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
      const isDue = row.lookAtMs === null || nowMs >= row.lookAtMs || nowMs > lateUntilMs(row);
      return isDue && !covered.has(row.id);
    });
  }

  /**
   * Ids of the reservations for which the repo needs no further scan, because this one saw every object. If there are
   * too many, live ones are kept first: the reconcile deletes the dead ones.
   */
  coveredBy(scan: RepoScan, scanBeganMs: number): Set<string> {
    const covered = this.#rows.filter((row) => this.#isSeen(row, { scan, scanBeganMs }));
    const isLast = (row: Row) => Number(isDead(row, scanBeganMs));
    covered.sort((a, b) => isLast(a) - isLast(b));
    return new Set(covered.slice(0, coveredIdsMax).map(({ id }) => id));
  }

  /**
   * What they may still bring. If several sizes are claimed for one object, at most one of them is true, and the store
   * accepts no other. So the largest counts, not their sum: a sum would never be too low, but one false size would
   * block the tenant until that reservation is over.
   *
   * @param input.counted what this reconcile knows of the repo. If it was not scanned, every live reservation is
   * covered, and the late ones hold what the last scan did not see.
   */
  openClaims(input: { counted: CountedRepo; nowMs: number; clockSkewMs: number }): OpenClaims {
    const { nowMs, clockSkewMs } = input;
    const { scan, covered, isBehind = false } = input.counted;
    const live = new ClaimTally();
    const late = new ClaimTally();
    const countBy = new Map<string, OpenCount>();
    let newestIssuedMs: number | null = null;
    for (const row of this.#rows) {
      let claims = 0;
      const isLate = isDead(row, nowMs);
      const isOver = isLate && nowMs > lateUntilMs(row);
      if (!scan && covered.has(row.id)) continue;
      const isUnseen = isBehind && isLate && !isLookedAt(row, nowMs);
      const heldUntilMs = isLate ? lateUntilMs(row) : row.deadAtMs;
      const certainUntilMs = heldUntilMs - 2 * clockSkewMs;
      for (const [oid, sizeBytes] of this.#claimsOf(row)) {
        if (scan?.seen.has(oid)) continue;
        if (!isLate && row.state === 'issued')
          newestIssuedMs = Math.max(row.createdAtMs, newestIssuedMs ?? row.createdAtMs);
        if (isUnseen || scan?.giant?.unknown.has(oid)) {
          live.add(oid, { sizeBytes, isIssued: false, isLasting: false, heldUntilMs, certainUntilMs });
          continue;
        }
        if (scan && isOver) continue;
        claims += 1;
        (isLate ? late : live).add(oid, {
          sizeBytes,
          isIssued: row.state === 'issued',
          isLasting: certainUntilMs > nowMs + floorLastsMs,
          heldUntilMs,
          certainUntilMs,
          madeBy: row.madeBy,
        });
      }
      if (row.madeBy !== undefined && claims > 0)
        addCount(countBy, row.madeBy, { claims, untilMs: lateUntilMs(row) });
    }
    return { live: live.sums(), late: late.sums(live), lateBy: late.shares(live), countBy, newestIssuedMs };
  }

  /**
   * What becomes of the dead ones. Those that are late and need no look yet stay as they are.
   *
   * A live one keeps all its claims, also those that a scan saw. Two clients can have a URL for one object: once it's
   * deleted, the second PUT would land uncounted (the simulator finds that in most of its runs).
   */
  *settle(input: { counted: CountedRepo; scanBeganMs: number }): Iterable<Settlement> {
    const { scanBeganMs } = input;
    const { scan, covered } = input.counted;
    for (const row of this.#rows) {
      const { id: reservationId, lookAtMs } = row;
      if (!isDead(row, scanBeganMs)) continue;
      if (!scan) {
        if (covered.has(reservationId)) yield { kind: 'delete', reservationId };
        continue;
      }
      // A scan before the time of its look says when that is: the same as before.
      const isEarly = lookAtMs !== null && scanBeganMs < lookAtMs;
      const nextMs = isEarly ? lookAtMs : nextLookMs(row, scanBeganMs);
      if (this.#isUnknown(row, scan)) {
        yield* this.#settleKnown(row, { scan, scanBeganMs });
        continue;
      }
      if (nextMs === undefined || this.#isSeen(row, { scan, scanBeganMs })) {
        yield { kind: 'delete', reservationId };
        continue;
      }
      if (!saysWhatArrived(row, scanBeganMs)) continue;
      const unseen = new Map([...this.#claimsOf(row)].filter(([oid]) => !scan.seen.has(oid)));
      const isSame = nextMs === lookAtMs && unseen.size === row.to - row.from;
      if (isSame) continue;
      const { deadAtMs } = row;
      yield { kind: 'late', reservationId, unseen, deadAtMs, lookAtMs: nextMs };
    }
  }

  /**
   * Of a dead one, the objects that are not known to have arrived. The others need no longer be claimed, or a shard that
   * is full of their names would stay full. It is looked at again by the next reconcile.
   */
  *#settleKnown(row: Row, input: { scan: RepoScan; scanBeganMs: number }): Iterable<Settlement> {
    const { scan, scanBeganMs } = input;
    const isGoing = [...this.#claimsOf(row)].some(([oid]) => scan.giant?.going.has(oid));
    const unseen = new Map([...this.#claimsOf(row)].filter(([oid]) => !scan.seen.has(oid)));
    if (isGoing || unseen.size === row.to - row.from) return;
    const { id: reservationId, deadAtMs } = row;
    yield { kind: 'late', reservationId, unseen, deadAtMs, lookAtMs: scanBeganMs };
  }

  /** What the live ones promise of these objects: oid → promise. */
  promises(input: { oids: ReadonlySet<string>; nowMs: number }): Map<string, Promised> {
    const promises = new Map<string, Promised>();
    for (const row of this.#rows) {
      if (isDead(row, input.nowMs)) continue;
      for (const [oid, sizeBytes] of this.#claimsOf(row)) {
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
  oldestClaimMs(oids: ReadonlySet<string>): number | undefined {
    let oldestMs: number | undefined;
    for (const row of this.#rows)
      for (const [oid] of this.#claimsOf(row))
        if (oids.has(oid)) oldestMs = Math.min(row.createdAtMs, oldestMs ?? row.createdAtMs);
    return oldestMs;
  }

  /**
   * The objects that a giant repo is asked for, one by one, because nobody knows whether they have arrived: those of dead
   * reservations that are to be looked at, and then those of live ones, the newest first.
   *
   * @param input.isCounted whether it is known that an object has arrived.
   * @returns oid → when the oldest of them was created that claims it.
   */
  toAsk(input: { nowMs: number; isCounted: (oid: string) => boolean }): Map<string, number> {
    const { nowMs, isCounted } = input;
    const rows = this.#rows.filter((row) => row.state === 'issued' && isToBeAsked(row, nowMs));
    const dead = rows.filter((row) => isDead(row, nowMs));
    const live = rows.filter((row) => !isDead(row, nowMs)).sort((a, b) => b.createdAtMs - a.createdAtMs);
    const oids = new Map<string, number>();
    for (const row of [...dead, ...live])
      for (const [oid] of this.#claimsOf(row))
        if (isOid(oid) && !isCounted(oid))
          oids.set(oid, Math.min(row.createdAtMs, oids.get(oid) ?? row.createdAtMs));
    return oids;
  }

  /** When changes around the API were noted of which no name is known. */
  namelessChanges(): { fromMs: number; untilMs: number }[] {
    const notes = this.#rows.filter((row) => row.from === row.to);
    return notes.map(({ createdAtMs }) => ({ fromMs: createdAtMs, untilMs: createdAtMs }));
  }

  #isUnknown(row: Row, { giant }: RepoScan): boolean {
    if (!giant) return false;
    for (const [oid] of this.#claimsOf(row)) if (giant.unknown.has(oid) || giant.going.has(oid)) return true;
    return false;
  }

  #isSeen(row: Row, { scan, scanBeganMs }: { scan: RepoScan; scanBeganMs: number }): boolean {
    if (!saysWhatArrived(row, scanBeganMs)) return false;
    for (let index = row.from; index < row.to; index += 1) {
      if (!scan.seen.has(this.#oids[index] ?? '')) return false;
    }
    return true;
  }

  *#claimsOf({ from, to }: Row): Iterable<[oid: string, sizeBytes: number]> {
    for (let index = from; index < to; index += 1) yield [this.#oids[index] ?? '', this.#sizes[index] ?? 0];
  }
}

/** Adds what somebody claimed to what they claimed before. */
export function addCount(counts: Map<string, OpenCount>, madeBy: string, more: OpenCount): void {
  const { claims = 0, untilMs = 0 } = counts.get(madeBy) ?? {};
  counts.set(madeBy, { claims: claims + more.claims, untilMs: Math.max(untilMs, more.untilMs) });
}

/** Whether a late one waits for its next look: its claims are of what was not there at the last one. */
function isLookedAt({ lookAtMs }: Row, nowMs: number): boolean {
  return lookAtMs !== null && nowMs < lookAtMs;
}

/** Late ones wait for their look. Of what is being deleted, the store may still have the old objects. */
function isToBeAsked(row: Row, nowMs: number): boolean {
  if (!saysWhatArrived(row, nowMs)) return false;
  return row.lookAtMs === null || nowMs >= row.lookAtMs || nowMs > lateUntilMs(row);
}

/** Whether what a scan saw has arrived. Of objects that were being deleted meanwhile, it may have seen the old ones. */
function saysWhatArrived({ deletedByMs }: Row, scanBeganMs: number): boolean {
  return deletedByMs === undefined || scanBeganMs > deletedByMs;
}

/** Sums in which each object counts once. */
export interface ClaimSums {
  /** The largest claim of each object. */
  readonly mostBytes: number;
  /** The smallest issued claim of each object, if one is held for long enough: see {@link floorLastsMs}. */
  readonly leastBytes: number;
  /** The first moment at which one that `leastBytes` counts no longer does. 2^53 − 1 if it counts none. */
  readonly leastUntilMs: number;
  /** The last moment at which one that `mostBytes` counts is held. 0 if it counts no bytes. */
  readonly mostUntilMs: number;
}

class ClaimTally {
  readonly #most = new Map<string, number>();
  readonly #least = new Map<string, number>();
  /** The oids that `leastBytes` counts. */
  readonly #lasting = new Set<string>();
  #leastUntilMs = Number.MAX_SAFE_INTEGER;
  #mostUntilMs = 0;
  /** oid → who claimed it first. */
  readonly #madeBy = new Map<string, string>();
  /** Who → until when the last of what they claimed is held. */
  readonly #heldUntilMs = new Map<string, number>();

  /**
   * @param claim.heldUntilMs when it is no longer counted.
   * @param claim.certainUntilMs the same by the clock that is furthest ahead.
   * @param claim.isLasting that is long enough from now.
   */
  add(
    oid: string,
    claim: {
      sizeBytes: number;
      isIssued: boolean;
      isLasting: boolean;
      heldUntilMs: number;
      certainUntilMs: number;
      madeBy?: string | undefined;
    },
  ): void {
    const { sizeBytes, isIssued, isLasting, heldUntilMs, certainUntilMs, madeBy } = claim;
    if (madeBy !== undefined) {
      if (!this.#madeBy.has(oid)) this.#madeBy.set(oid, madeBy);
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
  shares(without: ClaimTally): Map<string, LateShare> {
    const shares = new Map<string, LateShare>();
    for (const [oid, madeBy] of this.#madeBy) {
      const beyondBytes = Math.max(0, (this.#most.get(oid) ?? 0) - (without.#most.get(oid) ?? 0));
      const bytes = beyondBytes + (shares.get(madeBy)?.bytes ?? 0);
      shares.set(madeBy, { bytes, untilMs: this.#heldUntilMs.get(madeBy) ?? 0 });
    }
    return shares;
  }

  /** @param without counts already: only what is claimed beyond it is added. */
  sums(without: ClaimTally = new ClaimTally()): ClaimSums {
    let mostBytes = 0;
    let leastBytes = 0;
    for (const [oid, bytes] of this.#most) mostBytes += Math.max(0, bytes - (without.#most.get(oid) ?? 0));
    for (const oid of this.#lasting)
      if (!without.#lasting.has(oid)) leastBytes += Math.min(this.#leastOf(oid), without.#leastOf(oid));
    return { mostBytes, leastBytes, leastUntilMs: this.#leastUntilMs, mostUntilMs: this.#mostUntilMs };
  }
}
