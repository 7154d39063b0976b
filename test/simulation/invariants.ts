import type { Reservation } from '../../lambda/core/ledger/rules/reservation.ts';
import { type TenantRecord, unconfirmedMakersMax } from '../../lambda/core/ledger/rules/tenant.ts';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { sumBelow, type Truth } from './truth.ts';

/** An invariant was broken. The message begins with its number in docs/how-it-works.md, and says by how much. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** One batch request that is not answered yet, and whether the limit was exceeded at any moment of it. */
interface OpenRequest {
  readonly repo: string;
  readonly objects: ReadonlyMap<string, number>;
  readonly beganMs: number;
  /** Of what was put around the API since then, nobody knew when the request began. */
  readonly aroundSinceMs: number;
  /** The tenant's limit, and that of the repo. */
  readonly limits: readonly [WatchedLimit, WatchedLimit];
}

/** What a limit was while a request was open. */
interface WatchedLimit {
  /** What the names begin with of whatever takes up room below it. */
  readonly start: string;
  /** By how much need plus the request was above the limit, at the worst moment so far. */
  worstExcessBytes: number;
  /** The highest limit that was in force so far. Null if there was a moment without a limit. */
  highestLimitBytes: number | null;
}

function watchedLimit(start: string): WatchedLimit {
  return { start, worstExcessBytes: Number.NEGATIVE_INFINITY, highestLimitBytes: 0 };
}

/** A reconcile is queued, waits in SQS, rests for a minute after the one before, and is queued again. */
const forgottenWithinMs = 5 * 60_000;
/** A tenant is due when a reservation is lapsed. The schedule comes every quarter of an hour, and reads an index that lags. */
const foundDeadWithinMs = 40 * 60_000;

/** What the ledger has of a limit, whether a tenant's or a repo's. */
interface LimitRecord {
  readonly start: string;
  readonly limitBytes: number | null;
  /** undefined: not counted. */
  readonly committedBytes: number | undefined;
  readonly storedBytes: number | undefined;
  /** Who has to wait before they claim more than fits beside what they never sent → until when. */
  readonly makers: ReadonlyMap<string, number>;
}

const nobody: ReadonlyMap<string, number> = new Map();

function limitsIn(record: TenantRecord): LimitRecord[] {
  const { limitBytes, scanned } = record;
  const committedBytes = scanned === null ? undefined : record.committedBytes;
  const makers = record.unconfirmed?.makers ?? nobody;
  const ofTenant = { start: '', limitBytes, committedBytes, storedBytes: scanned?.storedBytes, makers };
  const ofRepos = [...record.repoLimits].map(([repo, limit]) => ({
    start: `${repo}/`,
    limitBytes: limit.limitBytes,
    committedBytes: limit.scanned?.committedBytes,
    storedBytes: limit.scanned?.storedBytes,
    makers: limit.scanned?.unconfirmed?.makers ?? nobody,
  }));
  return [ofTenant, ...ofRepos];
}

/** A function removes an object of which a deletion was asked for, in a repo that stays. */
export interface AskedRemoval {
  readonly tenant: string;
  readonly repo: string;
  readonly oid: string;
  readonly askedMs: number;
  readonly nowMs: number;
}

/** What bounds what is stored if PUTs end hours late. */
interface LateBound {
  /** The highest limit that was ever in force, or what was there before it. Null after a moment without a limit. */
  highestBytes: number | null;
  /** What was in the bucket before it was counted. */
  importedBytes: number;
}

/** What must hold for one tenant, whatever others do. */
export class Invariants {
  readonly #truth: Truth;
  readonly open = new Set<OpenRequest>();
  /** (repo/oid) → when the last request began whose answer said that it is stored. */
  readonly #reported = new Map<string, number>();
  /** (repo/oid) → when its deletion was last requested. */
  readonly #deletedAtMs = new Map<string, number>();
  /** (repo/oid) → when its deletion was first requested since it was removed last. */
  readonly #askedAtMs = new Map<string, number>();
  /** Repo → how often its deletion was requested, how often it was opened after one, and when for the last time. */
  readonly #deletes = new Map<string, { requests: number; openings: number; openedAtMs: number }>();
  /** (repo/oid) of files that are to be deleted → since when they are stored. */
  readonly #toGo = new Map<string, number>();
  readonly #hasTricklers: boolean;
  /** The last release took what was deleted for what never arrived. */
  readonly #isExactOnMakers: boolean;
  /** Start of the names → what bounds what is stored below them. */
  readonly #lateBounds = new Map<string, LateBound>();
  /** When the last batch was answered. */
  #endedMs = 0;
  /** When the service last deleted an object. In a large repo its bytes stay in the counter until its shard is scanned. */
  #removedMs = 0;
  #isTenantClosed = false;
  #isCancelled = false;
  /** The highest tenant's limit so far. null: there was none for a moment. */
  #highestLimitBytes: number | null = 0;
  /** Start of the names → the lowest limit that ever was in force. */
  readonly #lowestLimits = new Map<string, number>();
  #everScanned = false;
  /** Of the truth that was checked last. */
  #checkedVersion = -1;
  /** Until then the entries that were checked last are as live or as late. */
  #sameUntilMs = 0;

  /**
   * @param input.hasTricklers some PUTs end when their reservation has been dead for hours. Then less is promised:
   * no more than twice the limit is stored.
   * @param input.hasOthers some functions are of another version.
   */
  constructor(truth: Truth, input: { hasTricklers: boolean; hasOthers: boolean }) {
    this.#truth = truth;
    this.#hasTricklers = input.hasTricklers;
    this.#isExactOnMakers = !input.hasOthers;
  }

  begin(request: { repo: string; objects: ReadonlyMap<string, number> }, nowMs: number): OpenRequest {
    this.#truth.look();
    const open = {
      ...request,
      beganMs: nowMs,
      aroundSinceMs: this.#truth.aroundSinceMs,
      limits: [watchedLimit(''), watchedLimit(`${request.repo}/`)],
    } satisfies OpenRequest;
    this.open.add(open);
    this.#watch(open, nowMs);
    return open;
  }

  end(request: OpenRequest, nowMs: number): void {
    this.open.delete(request);
    this.#endedMs = nowMs;
  }

  /**
   * From when on nothing may be shown as reserved that nobody was granted, if nothing failed. A batch is forgotten by the next
   * reconcile, which waits for the budget of LIST requests.
   */
  get forgottenAtMs(): number {
    const { listedUntilMs = 0, shardsListedUntilMs = 0 } = this.#truth.record ?? {};
    return Math.max(this.#endedMs, this.#removedMs, listedUntilMs, shardsListedUntilMs) + forgottenWithinMs;
  }

  /** Checked when nobody has asked for anything for a while: what was refused is not shown as reserved. */
  checkReserved(times: { nowMs: number; lookedFromMs: number }): void {
    const { nowMs } = times;
    const truth = this.#truth;
    truth.look();
    if (!truth.record) return;
    for (const { start, limitBytes, committedBytes, storedBytes } of limitsIn(truth.record)) {
      if (committedBytes === undefined || storedBytes === undefined) continue;
      // What has arrived may not be counted yet.
      const granted = sumBelow(start, truth.promises.grantedWithin(foundDeadWithinMs, times));
      const unconfirmedBytes = truth.unconfirmedBytes(nowMs, start) + truth.onceMoreBytes(start);
      const late = limitBytes === null ? 0 : Math.max(0, unconfirmedBytes - limitBytes);
      const reserved = committedBytes - storedBytes;
      if (reserved > granted + late)
        throw new Violation(
          `Reserved: ${reserved} bytes are shown${below(start)}, and ${granted} were granted, with ${late} late`,
        );
    }
  }

  /** Checked after every step. */
  check(nowMs: number): void {
    const truth = this.#truth;
    truth.look();
    // Time alone only lets URLs expire, and reservations die.
    const isSame = truth.version === this.#checkedVersion;
    if (isSame && (this.open.size === 0 || nowMs <= this.#sameUntilMs)) return;
    this.#checkedVersion = truth.version;
    this.#sameUntilMs = this.open.size === 0 ? 0 : truth.nextDeathMs(nowMs);
    const record = truth.record;
    if (!record) return;
    for (const limit of limitsIn(record)) {
      this.#checkLimit(limit, nowMs);
      this.#checkMakers(limit, nowMs);
    }
    if (record.limitBytes === null || this.#highestLimitBytes === null) this.#highestLimitBytes = null;
    else this.#highestLimitBytes = Math.max(record.limitBytes, this.#highestLimitBytes);
    if (this.#hasTricklers) this.#forgetLifted(record);
    if (record.scanned !== null) this.#everScanned = true;
    else if (this.#everScanned) throw new Violation('I6: usage was known, and is unknown again');
    for (const request of this.open) this.#watch(request, nowMs);
  }

  /** Checked when URLs reach a client: all that is stored or may still arrive is within the limit. */
  checkAdmission(request: OpenRequest, nowMs: number): void {
    const truth = this.#truth;
    // A full count may have counted what came around the API after the batch was admitted, and before its answer.
    const sinceMs = Math.min(request.aroundSinceMs, request.beganMs);
    for (const { start, highestLimitBytes } of request.limits) {
      if (highestLimitBytes === null || (this.#hasTricklers && !truth.areFiles(start))) continue;
      const around = truth.around.putBytes(truth.stored, sinceMs, start);
      const total = truth.storedBelow(start) + truth.outstandingBytes(nowMs, start) - around;
      if (total > highestLimitBytes)
        throw new Violation(
          `I1: admitted ${total} bytes above a limit of ${highestLimitBytes}${below(start)}`,
        );
    }
  }

  /** The operator cancels what is late: what still arrives of it is counted by the next full listing. */
  noteCancel(): void {
    this.#isCancelled = true;
  }

  /** Whether something may have arrived that only a full listing finds. */
  get needsFullListing(): boolean {
    return this.#isCancelled && this.#hasTricklers;
  }

  /** Checked when somebody is told to wait for what they claimed: they have claimed it, and it ends. */
  checkHeld({ madeBy = '', untilMs }: { madeBy: string | undefined; untilMs: number }): void {
    const latestMs = this.#truth.promises.unconfirmedUntilMsOf(madeBy);
    if (untilMs > latestMs + 2 * defaultSettings.clockSkewMs)
      throw new Violation(`I6: ${madeBy} is to wait ${untilMs - latestMs} ms longer than anything is late`);
  }

  /** Checked when somebody gets URLs: what they claimed and never sent is never much more than the limit. */
  checkMaker(madeBy: string, nowMs: number): void {
    const limitBytes = this.#highestLimitBytes;
    if (limitBytes === null || this.#isCancelled || this.#hasTricklers) return;
    const truth = this.#truth;
    let openBytes = 0;
    for (const [name, sizeBytes] of truth.promises.openOf(madeBy, nowMs))
      if (!truth.wasStored(name) && !this.mayBeClosed(name.slice(0, name.indexOf('/'))))
        openBytes += sizeBytes;
    if (openBytes > limitBytes * (1 + 1 / unconfirmedMakersMax))
      throw new Violation(`Late: ${madeBy} has claims of ${openBytes} bytes, above a limit of ${limitBytes}`);
  }

  /** Whoever has to wait for uploads that never finished has them: what the service has deleted since did finish. */
  #checkMakers({ start, limitBytes, makers }: LimitRecord, nowMs: number): void {
    const lowestBytes = Math.min(
      limitBytes ?? Number.POSITIVE_INFINITY,
      this.#lowestLimits.get(start) ?? Number.POSITIVE_INFINITY,
    );
    this.#lowestLimits.set(start, lowestBytes);
    if (!this.#isExactOnMakers) return;
    for (const [madeBy, untilMs] of makers) {
      const bytes = sumBelow(start, this.#truth.unfinishedOf(madeBy, nowMs));
      if (nowMs <= untilMs && bytes * unconfirmedMakersMax <= lowestBytes)
        throw new Violation(
          `I2: ${madeBy} is to wait for uploads that didn't finish${below(start)}, which are ${bytes} bytes`,
        );
    }
  }

  #checkLimit(limit: LimitRecord, nowMs: number): void {
    const truth = this.#truth;
    const { start, committedBytes } = limit;
    // How much was put around the API has no bound. It is counted by the next full listing.
    const isLate = this.#hasTricklers && !truth.areFiles(start);
    const aroundSinceMs = isLate ? 0 : truth.aroundSinceMs;
    const arriving = truth.outstandingBytes(nowMs, start);
    const outstanding = arriving - truth.around.putBytes(truth.stored, aroundSinceMs, start);
    const stored = truth.storedBelow(start);
    // What was put around the API stays above the limit once it's counted.
    if (this.#hasTricklers && !this.#isCancelled)
      this.#checkTricklers(limit, arriving - truth.around.putBytes(truth.stored, 0, start));
    if (!isLate && committedBytes !== undefined && stored + outstanding > committedBytes)
      throw new Violation(
        `I1: ${stored} stored + ${outstanding} that may still arrive > ${committedBytes} committed${below(start)}`,
      );
  }

  /**
   * However late PUTs end within a day, all that is stored or may still arrive is within twice the limit.
   */
  #checkTricklers({ start, limitBytes, committedBytes }: LimitRecord, outstandingBytes: number): void {
    const stored = this.#truth.storedBelow(start);
    const total = stored + outstandingBytes;
    const bound = this.#lateBounds.get(start) ?? {
      // What was promised before a repo had a limit has no bound.
      highestBytes: start === '' || this.#truth.isEmptyBelow(start) ? 0 : null,
      importedBytes: 0,
    };
    this.#lateBounds.set(start, bound);
    if (committedBytes === undefined) bound.importedBytes = Math.max(bound.importedBytes, stored);
    if (limitBytes === null || bound.highestBytes === null) bound.highestBytes = null;
    else {
      bound.highestBytes = Math.max(bound.highestBytes, limitBytes);
      const most = Math.max(bound.highestBytes, bound.importedBytes) + bound.highestBytes;
      if (total > most)
        throw new Violation(`I1: ${total} bytes are stored or may arrive, above ${most}${below(start)}`);
    }
  }

  /** A limit that was lifted bounds nothing any more, even if there is one again. */
  #forgetLifted(record: TenantRecord): void {
    const limited = new Set(limitsIn(record).map(({ start }) => start));
    for (const [start, bound] of this.#lateBounds) if (!limited.has(start)) bound.highestBytes = null;
  }

  reportStored(object: { repo: string; oid: string }, beganMs: number): void {
    const name = `${object.repo}/${object.oid}`;
    const { stored, around } = this.#truth;
    const isAsked = (this.#deletedAtMs.get(name) ?? 0) >= beganMs;
    const mayGo = isAsked || this.#mayGo(object.repo, beganMs) || around.isRemoved(name, beganMs);
    if (!stored.has(name) && !mayGo) {
      throw new Violation(`I7: a client was told that ${name.slice(0, 12)} is stored, and it is gone`);
    }
    this.#reported.set(name, beganMs);
  }

  /**
   * Somebody has requested the deletion of an object, of a repo (without `oid`), or of the tenant (without both).
   *
   * @param heardByMs without an answer, what it writes may land as late as this.
   */
  requestDeletion(path: { repo?: string; oid?: string }, nowMs: number, heardByMs = nowMs): void {
    if (path.repo === undefined) this.#isTenantClosed = true;
    else if (path.oid === undefined) this.#deletesOf(path.repo).requests += 1;
    if (path.repo !== undefined && path.oid !== undefined) {
      const name = `${path.repo}/${path.oid}`;
      this.#deletedAtMs.set(name, heardByMs);
      if (!this.#askedAtMs.has(name)) this.#askedAtMs.set(name, nowMs);
    }
  }

  /** A repo that was being deleted is empty, and takes pushes again. */
  noteOpening(repo: string, nowMs: number): void {
    const deletes = this.#deletesOf(repo);
    deletes.openings += 1;
    this.#truth.files.delete(repo);
    deletes.openedAtMs = nowMs;
  }

  #deletesOf(repo: string) {
    const deletes = this.#deletes.get(repo) ?? { requests: 0, openings: 0, openedAtMs: 0 };
    this.#deletes.set(repo, deletes);
    return deletes;
  }

  /** Whether the deletion of this repo, or of the tenant, was ever requested. */
  mayBeClosed(repo: string): boolean {
    return this.#isTenantClosed || this.#deletes.has(repo);
  }

  /**
   * Whether what a request that began then saw may go with the whole repo or tenant. Once the repo was opened as often as
   * its deletion was requested, all of that is over, and what is pushed from then on must stay.
   */
  #mayGo(repo: string, beganMs: number): boolean {
    const deletes = this.#deletes.get(repo);
    if (this.#isTenantClosed) return true;
    return deletes !== undefined && (deletes.openings < deletes.requests || beganMs < deletes.openedAtMs);
  }

  /**
   * Checked at each removal. After a client was told that an object is stored, the object may go only if its deletion
   * was requested after that client's request began.
   */
  checkRemoval(
    key: string,
    { nowMs, check }: { nowMs: number; check: (removal: AskedRemoval) => void },
  ): void {
    this.#removedMs = nowMs;
    const [, repo = '', ...name] = key.split('/');
    const oid = name.join('/');
    const askedMs = this.#takeAsked(repo, oid);
    if (askedMs !== undefined) check({ tenant: this.#truth.tenant, repo, oid, askedMs, nowMs });
    this.#checkFile(`${repo}/${oid}`);
    const reportedMs = this.#reported.get(`${repo}/${oid}`);
    if (reportedMs === undefined || this.#mayGo(repo, reportedMs)) return;
    if ((this.#deletedAtMs.get(`${repo}/${oid}`) ?? 0) < reportedMs) {
      throw new Violation(
        `I7: ${repo}/${oid.slice(0, 4)} was deleted after a client was told that it is stored`,
      );
    }
  }

  /** A file goes only if its deletion was asked for since it is there. */
  #checkFile(name: string): void {
    const truth = this.#truth;
    const sinceMs = truth.storedSinceMs(name);
    const repo = name.slice(0, name.indexOf('/'));
    if (sinceMs === undefined || !truth.isFile(name) || truth.marked.has(name)) return;
    if (this.mayBeClosed(repo)) return;
    if ((this.#deletedAtMs.get(name) ?? -1) < sinceMs)
      throw new Violation(`I7: ${name.slice(0, 12)} was deleted, which nobody asked for since it is stored`);
  }

  /** @returns when the deletion of an object was asked for first that is stored, in a repo that stays. */
  #takeAsked(repo: string, oid: string): number | undefined {
    const name = `${repo}/${oid}`;
    const askedMs = this.#askedAtMs.get(name);
    this.#askedAtMs.delete(name);
    return this.mayBeClosed(repo) || !this.#truth.stored.has(name) ? undefined : askedMs;
  }

  /** Checked when a client is refused: the limit must have been exceeded at some moment of its request. */
  checkRefusal(request: OpenRequest): void {
    const excesses = request.limits.map(({ worstExcessBytes }) => worstExcessBytes);
    if (Math.max(...excesses) > 0) return;
    throw new Violation(`I2: refused, though the limit was never exceeded (by ${excesses.join(', ')} bytes)`);
  }

  /** Whether usage was ever known. From then on nobody may be told that it is unknown. */
  get everScanned(): boolean {
    return this.#everScanned;
  }

  /** Checked when usage is shown. It must have been true at some moment since the scan began. */
  checkShown(
    shown: { storedBytes: number; scannedAtMs: number } | null,
    input: { skewMs: number; wasScanned: boolean; fullScannedAtMs: number },
  ): void {
    if (shown === null) {
      if (input.wasScanned) throw new Violation('I6: unknown was shown after usage had been known');
      return;
    }
    if (this.#hasTricklers) return;
    const { least, most } = this.#truth.bounds(shown.scannedAtMs - input.skewMs, input.fullScannedAtMs);
    if (shown.storedBytes < least || shown.storedBytes > most) {
      throw new Violation(`I6: ${shown.storedBytes} was shown, but it was between ${least} and ${most}`);
    }
  }

  /** The deletion of a file was answered that is stored since then: some day it's gone. */
  expectGone(name: string, sinceMs: number): void {
    this.#toGo.set(name, sinceMs);
  }

  /** Checked when nothing happens any more and a reconcile has run: the numbers are exact. */
  checkRest(): void {
    const truth = this.#truth;
    for (const [name, sinceMs] of this.#toGo)
      if (truth.storedSinceMs(name) === sinceMs && !truth.marked.has(name))
        throw new Violation(`I8: ${name.slice(0, 12)} was to be deleted, and is there`);
    truth.look();
    const record = truth.record;
    const committed = record?.committedBytes;
    const scanned = record?.scanned?.storedBytes;
    if (committed !== truth.storedBytes || scanned !== truth.storedBytes) {
      throw new Violation(
        `I3: ${truth.storedBytes} stored, ${scanned} counted, ${committed} committed at rest`,
      );
    }
    const shown = truth.stored.size - truth.marked.size;
    if (record?.scanned?.objectCount !== shown) {
      throw new Violation(`I3: ${shown} objects, ${record?.scanned?.objectCount} counted at rest`);
    }
    for (const { start, ...found } of limitsIn(record)) {
      const stored = truth.storedBelow(start);
      if (found.committedBytes !== stored || found.storedBytes !== stored)
        throw new Violation(
          `I3: ${stored} stored, ${found.storedBytes} counted, ${found.committedBytes} committed at rest${below(start)}`,
        );
    }
    // Events of the deletes that this reconcile made may arrive while it runs. The next reconcile handles them.
    const { scannedAtMs } = record.scanned;
    const isNew = ({ entries, createdAtMs }: Reservation) =>
      entries.size === 0 && createdAtMs > scannedAtMs - 2 * defaultSettings.clockSkewMs;
    if (!truth.reservations.every(isNew))
      throw new Violation(`I3: reservations of ${truth.tenant} remain at rest`);
  }

  #watch(request: OpenRequest, nowMs: number): void {
    const truth = this.#truth;
    truth.look();
    const limits = truth.record ? limitsIn(truth.record) : [];
    for (const watched of request.limits) {
      const limitBytes = limits.find(({ start }) => start === watched.start)?.limitBytes ?? null;
      if (limitBytes === null) watched.highestLimitBytes = null;
      else this.#watchLimit(watched, { limitBytes, request, nowMs });
    }
  }

  #watchLimit(
    watched: WatchedLimit,
    { limitBytes, request, nowMs }: { limitBytes: number; request: OpenRequest; nowMs: number },
  ): void {
    const truth = this.#truth;
    const { start } = watched;
    if (watched.highestLimitBytes !== null)
      watched.highestLimitBytes = Math.max(watched.highestLimitBytes, limitBytes);
    const entries = truth.liveEntries(nowMs);
    const taken = truth.liveEntries(nowMs, truth.promises.ended(nowMs));
    let needed = truth.storedBelow(start) + sumBelow(start, taken);
    for (const [oid, sizeBytes] of request.objects) {
      const name = `${request.repo}/${oid}`;
      // An object that is claimed already adds nothing, or the difference if it was claimed with a smaller size.
      // If it came around the API since the request began, the confirmed usage may have it, and nothing says whose it is.
      if (!truth.stored.has(name) || truth.around.isPut(name, request.beganMs))
        needed += Math.max(0, sizeBytes - (entries.get(name) ?? 0));
    }
    // Late uploads, and what deletes expect once more, count by what they exceed the limit by.
    needed += Math.max(0, truth.unconfirmedBytes(nowMs, start, truth.onceMore()) - limitBytes);
    // What was removed around the API is in the confirmed usage until it is noticed.
    needed += truth.around.removedBytes(truth.aroundSinceMs, start);
    watched.worstExcessBytes = Math.max(watched.worstExcessBytes, needed - limitBytes);
  }
}

/** Which limit a message is about. */
function below(start: string): string {
  return start === '' ? '' : ` below ${start}`;
}
