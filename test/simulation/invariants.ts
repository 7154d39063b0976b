import type { Reservation } from '../../lambda/domain/reservation.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { type Truth, tenant } from './truth.ts';

/** An invariant was broken. The message begins with its number in docs/ledger.md, and says by how much. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** One batch request on its way: whether the limit was exceeded at any moment of it. */
export interface OpenRequest {
  readonly repo: string;
  readonly objects: ReadonlyMap<string, number>;
  /** The most by which need plus the request was above the limit at any moment so far. */
  worstExcessBytes: number;
  /** The highest limit that was in force; null: there was a moment without one. */
  highestLimitBytes: number | null;
}

export class Invariants {
  readonly #truth: Truth;
  readonly open = new Set<OpenRequest>();
  /** (repo/oid) → when the last request began in which a client was told that it is stored. */
  readonly #told = new Map<string, number>();
  /** (repo/oid) → when its deletion was last asked for; a closed repo's objects may go at any time. */
  readonly #asked = new Map<string, number>();
  readonly #closed = new Set<string>();
  #isTenantClosed = false;
  #everCounted = false;

  constructor(truth: Truth) {
    this.#truth = truth;
  }

  begin(request: { repo: string; objects: ReadonlyMap<string, number> }, nowMs: number): OpenRequest {
    const open = { ...request, worstExcessBytes: Number.NEGATIVE_INFINITY, highestLimitBytes: 0 };
    this.open.add(open);
    this.#watch(open, nowMs);
    return open;
  }

  end(request: OpenRequest): void {
    this.open.delete(request);
  }

  /** After every step. */
  check(nowMs: number): void {
    const truth = this.#truth;
    truth.look();
    const record = truth.record;
    if (!record) return;
    const outstanding = truth.outstandingBytes(nowMs);
    if (truth.storedBytes + outstanding > record.committedBytes && record.counted !== null) {
      throw new Violation(
        `I1: ${truth.storedBytes} stored + ${outstanding} that may still arrive > ${record.committedBytes} committed`,
      );
    }
    if (record.counted !== null) this.#everCounted = true;
    else if (this.#everCounted) throw new Violation('I6: usage was known, and is unknown again');
    for (const request of this.open) this.#watch(request, nowMs);
  }

  /** When URLs reach a client: all that is stored and may arrive is within the limit. */
  checkAdmission(request: OpenRequest, nowMs: number): void {
    if (request.highestLimitBytes === null) return;
    const total = this.#truth.storedBytes + this.#truth.outstandingBytes(nowMs);
    if (total > request.highestLimitBytes) {
      throw new Violation(`I1: admitted ${total} bytes above a limit of ${request.highestLimitBytes}`);
    }
  }

  toldStored(object: { repo: string; oid: string }, beganMs: number): void {
    const name = `${object.repo}/${object.oid}`;
    if (!this.#truth.stored.has(name) && !this.#mayGo(object.repo)) {
      throw new Violation(`I7: a client was told that ${name.slice(0, 12)} is stored, and it is gone`);
    }
    this.#told.set(name, beganMs);
  }

  /** Somebody has asked for a delete, of an object, of a whole repo, or of the tenant. */
  askedToDelete(path: { repo?: string; oid?: string }, nowMs: number): void {
    if (path.repo === undefined) this.#isTenantClosed = true;
    else if (path.oid === undefined) this.#closed.add(path.repo);
    else this.#asked.set(`${path.repo}/${path.oid}`, nowMs);
  }

  /** What was asked for as a whole may go at any time. */
  #mayGo(repo: string): boolean {
    return this.#isTenantClosed || this.#closed.has(repo);
  }

  /** Nothing goes that a client was told is stored, unless its deletion was asked for after that request began. */
  checkRemoval(key: string): void {
    const [, repo = '', oid = ''] = key.split('/');
    const told = this.#told.get(`${repo}/${oid}`);
    if (told === undefined || this.#mayGo(repo)) return;
    if ((this.#asked.get(`${repo}/${oid}`) ?? 0) < told) {
      throw new Violation(
        `I7: ${repo}/${oid.slice(0, 4)} was deleted after a client was told that it is stored`,
      );
    }
  }

  checkRefusal(request: OpenRequest): void {
    if (request.worstExcessBytes > 0) return;
    throw new Violation(
      `I2: refused, though the limit was never exceeded (by ${request.worstExcessBytes} bytes)`,
    );
  }

  /** True once usage is known; from then on nobody who asks may be told that it is not. */
  get everCounted(): boolean {
    return this.#everCounted;
  }

  checkShown(
    shown: { storedBytes: number; countedAtMs: number } | null,
    input: { skewMs: number; wasCounted: boolean },
  ): void {
    if (shown === null) {
      if (input.wasCounted) throw new Violation('I6: unknown was shown after usage had been known');
      return;
    }
    const { least, most } = this.#truth.bounds(shown.countedAtMs - input.skewMs);
    if (shown.storedBytes < least || shown.storedBytes > most) {
      throw new Violation(`I6: ${shown.storedBytes} was shown, but it was between ${least} and ${most}`);
    }
  }

  /** When all is over and one full reconcile has run. */
  checkRest(): void {
    const truth = this.#truth;
    truth.look();
    const record = truth.record;
    const committed = record?.committedBytes;
    const counted = record?.counted?.storedBytes;
    if (committed !== truth.storedBytes || counted !== truth.storedBytes) {
      throw new Violation(
        `I3: ${truth.storedBytes} stored, ${counted} counted, ${committed} committed at rest`,
      );
    }
    if (record?.counted?.objectCount !== truth.stored.size) {
      throw new Violation(
        `I3: ${truth.stored.size} objects, ${record?.counted?.objectCount} counted at rest`,
      );
    }
    // What the store tells of deletes by that very recount may come while it runs; it is for the next one.
    const { countedAtMs } = record.counted;
    const isNews = ({ claims, createdAtMs }: Reservation) =>
      claims.size === 0 && createdAtMs > countedAtMs - 2 * defaultSettings.clockSkewMs;
    if (!truth.reservations.every(isNews))
      throw new Violation(`I3: reservations of ${tenant} remain at rest`);
  }

  #watch(request: OpenRequest, nowMs: number): void {
    const truth = this.#truth;
    truth.look();
    const limit = truth.record?.limitBytes;
    if (limit === null || limit === undefined) {
      request.highestLimitBytes = null;
      return;
    }
    if (request.highestLimitBytes !== null) {
      request.highestLimitBytes = Math.max(request.highestLimitBytes, limit);
    }
    const claims = truth.liveClaims(nowMs);
    let needed = truth.storedBytes;
    for (const bytes of claims.values()) needed += bytes;
    for (const [oid, sizeBytes] of request.objects) {
      const name = `${request.repo}/${oid}`;
      // Claimed already, it adds nothing; claimed with a smaller size, the difference.
      if (!truth.stored.has(name)) needed += Math.max(0, sizeBytes - (claims.get(name) ?? 0));
    }
    request.worstExcessBytes = Math.max(request.worstExcessBytes, needed - limit);
  }
}
