import * as z from 'zod';
import { sha256Hex } from '../../rules/hash.ts';
import { isRepoName, isTenantName } from '../../rules/names.ts';
import { defaultSettings, type Settings } from '../../rules/settings.ts';
import { type Frozen, mapOf, nullable } from '../../rules/stored.ts';

/** What a reservation's item has as its {@link Reservation} has it. */
export const reservationFields = z.object({
  repo: z.string(),
  state: z.enum(['pending', 'issued']),
  /** oid → size in bytes. */
  entries: mapOf(z.number()),
  createdAtMs: z.number(),
  /** No URL of this reservation is valid after this. */
  expiresAtMs: z.number(),
  /** No PUT of this reservation can land after this, whichever clock is asked: see {@link lapsedAtMs}. */
  lapsedAtMs: z.number(),
  /**
   * Set on a lapsed reservation of which a scan did not see every object: its repo is listed again at this time, in case
   * a PUT lands that was slower than any is assumed to be. `entries` are then the objects that were not seen. Such a
   * reservation is *late*: see {@link unconfirmedUntilMs}.
   */
  lookAtMs: nullable(z.number()),
  /**
   * Set on an unconfirmed reservation that stands for objects which were deleted: see {@link lateAfterDelete}. By then their
   * delete has ended, so only a scan that begins later can tell whether they have arrived once more.
   */
  deletedByMs: z.number().optional(),
  /** Who asked for it: see {@link makerOf}. Absent: an older version did not say, or it is of a delete. */
  madeBy: z.string().optional(),
});

/**
 * What one batch request reserved: entries whose upload URLs are about to be handed out (*pending*) or have been
 * (*issued*). An entry is (repo, oid, size). A reservation belongs to one repo, so it maps oid → size.
 *
 * The repo and the size belong to an entry. Without the repo, one oid in two repos counts once. Without the size, a
 * first request with a false size of 1 lets the true size in for nothing.
 */
export interface Reservation extends Frozen<z.output<typeof reservationFields>> {
  readonly id: string;
  /**
   * Objects that arrive in chunks. While there is one, the reservation neither expires nor lapses before its chunked uploads
   * must have ended.
   */
  readonly chunked?: ReadonlySet<string>;
}

export interface ReservationKey {
  readonly tenant: string;
  readonly repo: string;
  readonly reservationId: string;
}

/**
 * Who is held to account for what is claimed: the rule that gives jobs a token each, the person, or else the token.
 */
export function makerOf({ tokenId, ruleId }: { tokenId: string; ruleId?: string | undefined }): string {
  return ruleId ?? tokenId;
}

/**
 * When a reservation is lapsed: it has expired, the longest PUT that began before that has ended, and twice the clock
 * skew has passed (once for the clock that signed, once for the clock that is asked).
 *
 * @param reservation.entries oid → bytes. The largest object decides, because it takes longest to send.
 */
export function lapsedAtMs(
  settings: Settings,
  reservation: { expiresAtMs: number; entries: ReadonlyMap<string, number> },
): number {
  const largestBytes = Math.max(0, ...reservation.entries.values());
  const longestPutMs = settings.putGraceMs + Math.ceil((largestBytes / settings.putMinBytesPerSecond) * 1000);
  return reservation.expiresAtMs + longestPutMs + 2 * settings.clockSkewMs;
}

/** True once no object of the reservation can arrive any more, unless its PUT is slower than any is assumed to be. */
export function isLapsed(reservation: Pick<Reservation, 'lapsedAtMs'>, nowMs: number): boolean {
  return nowMs > reservation.lapsedAtMs;
}

const minute = 60_000;
const hour = 60 * minute;

/**
 * How long after its death the repo of a reservation is listed again, while objects of it have not been seen. The
 * intervals grow, because what has not arrived for long rarely does.
 *
 * The looks alone don't bound anything: a client that waits for the longest pause gets round after round past the
 * limit, 36 a day. That's why unconfirmed entries count beyond the limit (`recompute` in `reconciliation.ts`).
 */
const looksAfterMs = [10 * minute, hour, 6 * hour];

/** The last look. A PUT that ends even later is found by the next full count. */
export const unconfirmedForMs = 24 * hour;

/** Until then a lapsed reservation is late: the repo is looked at again for objects of it that were not seen. */
export function unconfirmedUntilMs(reservation: Pick<Reservation, 'lapsedAtMs'>): number {
  return reservation.lapsedAtMs + unconfirmedForMs;
}

/** When to list the repo of an unconfirmed reservation next. undefined: it was looked at for the last time. */
export function nextLookMs(reservation: Pick<Reservation, 'lapsedAtMs'>, nowMs: number): number | undefined {
  const looks = [...looksAfterMs, unconfirmedForMs].map((afterMs) => reservation.lapsedAtMs + afterMs);
  return looks.find((lookAtMs) => lookAtMs > nowMs);
}

/**
 * An unconfirmed reservation of objects that are about to be deleted. A URL may be used for several PUTs, so one that was slower
 * than any is assumed to be can store a deleted object once more.
 *
 * It isn't enough to spare what is newer than a URL and the longest PUT (2 h). In a day, that allows ten rounds with
 * ten slow PUTs each that end later: ten times the limit.
 *
 * @param input.putsUntilMs when the last such PUT has ended: until then the latest of the reservations for the repo is
 * late.
 * @param input.deletedByMs when the delete has ended, by the clock of whoever deletes.
 */
export function lateAfterDelete(
  { clockSkewMs }: Settings,
  input: {
    /** Begins with {@link onceMoreIdStart}. */
    id: string;
    tenant: string;
    repo: string;
    entries: ReadonlyMap<string, number>;
    putsUntilMs: number;
    deletedByMs: number;
    nowMs: number;
  },
): Reservation {
  const { tenant, putsUntilMs, nowMs, ...rest } = input;
  // No live reservation holds what is deleted. So this one is lapsed from its beginning, by every clock.
  const lapsedAtMs = Math.min(putsUntilMs - unconfirmedForMs, nowMs - 2 * clockSkewMs - 1);
  const phaseMs = Number.parseInt(sha256Hex(`${tenant}/${input.repo}`).slice(0, 8), 16) % hour;
  return {
    ...rest,
    state: 'issued',
    createdAtMs: nowMs,
    expiresAtMs: lapsedAtMs,
    lapsedAtMs,
    // One look, at the end. Those of a repo in an hour share it: a listing of a large repo is dear. Each repo has a
    // minute of its own, because the schedule reads a bounded number of those that are due at the same time.
    lookAtMs: Math.ceil((lapsedAtMs + unconfirmedForMs - phaseMs) / hour) * hour + phaseMs,
    deletedByMs: deletedByMs(input.deletedByMs, clockSkewMs),
  };
}

/** What the ids of such reservations begin with: after all others, so a query can leave them out. */
export const onceMoreIdStart = '~';

/**
 * When the last PUT has ended that can store an object once more. A batch hands out no URL for what is stored, so every
 * URL of it was handed out before the object arrived, or by a batch that was running then.
 *
 * @param stored.lastModifiedMs may be when its PUT began, which may have been late itself.
 */
export function storedAgainUntilMs(
  settings: Settings,
  stored: { sizeBytes: number; lastModifiedMs: number },
): number {
  // A larger one was made of chunks. An upload that can make it again is in a live reservation.
  const sizeBytes = Math.min(stored.sizeBytes, defaultSettings.objectBytesMax);
  const arrivedMs = lastPutMs(settings, { sizeBytes, handedOutMs: stored.lastModifiedMs });
  return lastPutMs(settings, { sizeBytes, handedOutMs: arrivedMs + settings.pendingVoidAfterMs });
}

/** When the last PUT of such an object ends whose URL was handed out by then. */
export function lastPutMs(settings: Settings, url: { sizeBytes: number; handedOutMs: number }): number {
  const expiresAtMs = url.handedOutMs + settings.urlLifetimeMs + settings.reservationSlackMs;
  const entries = new Map([['', url.sizeBytes]]);
  return unconfirmedUntilMs({ lapsedAtMs: lapsedAtMs(settings, { expiresAtMs, entries }) });
}

/** When a delete has ended by every clock. It tells the unconfirmed reservation of a run of a deletion. */
export function deletedByMs(deadlineMs: number, clockSkewMs: number): number {
  return deadlineMs + 2 * clockSkewMs;
}

/** What is left of a lapsed reservation: the objects that were not seen, and when to look for them next. */
export interface UnconfirmedRemainder {
  readonly unseen: ReadonlyMap<string, number>;
  readonly lapsedAtMs: number;
  readonly lookAtMs: number;
}

/**
 * True for a pending reservation whose batch function can no longer be running, so it will never hand out a URL.
 * The age at which this is assumed is far beyond the function's time limit, so skewed clocks do not matter.
 */
export function isAbandoned(settings: Settings, reservation: Reservation, nowMs: number): boolean {
  return reservation.state === 'pending' && nowMs > reservation.createdAtMs + settings.pendingVoidAfterMs;
}

/** Sum of all entries, in bytes. */
export function sumEntries(entries: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const sizeBytes of entries.values()) sum += sizeBytes;
  return sum;
}

/** The id of a reservation is a hash of its verify token, so the table never holds the token itself. */
export function reservationIdOf(verifyToken: string): string {
  return sha256Hex(verifyToken).slice(0, 32);
}

/** Which entries of a request fit: pure arithmetic. */

/** What is taken up below a limit. */
export interface Bound {
  readonly baseBytes: number;
  /** null: unlimited. */
  readonly limitBytes: number | null;
}

interface EntryChoice {
  /** oid → bytes of the entries that fit, in the order of the request. */
  readonly chosen: ReadonlyMap<string, number>;
  /** oid → bytes of the entries that do not fit. */
  readonly refused: ReadonlyMap<string, number>;
  /** What the chosen entries add to each base. */
  readonly addedBytes: number;
}

/**
 * Chooses the entries that fit between base and limit of every bound, in the order of the request. An entry that is too
 * large does not keep out a smaller one behind it.
 *
 * @param input.entries oid → bytes.
 * @param input.isFree true for an oid whose entry adds nothing, because it is stored or reserved already.
 */
export function chooseWithinLimits(input: {
  entries: ReadonlyMap<string, number>;
  bounds: readonly Bound[];
  isFree: (oid: string) => boolean;
}): EntryChoice {
  const roomBytes = Math.min(
    ...input.bounds.map(({ baseBytes, limitBytes }) => (limitBytes ?? Number.MAX_SAFE_INTEGER) - baseBytes),
  );
  const chosen = new Map<string, number>();
  const refused = new Map<string, number>();
  let addedBytes = 0;
  for (const [oid, sizeBytes] of input.entries) {
    const moreBytes = input.isFree(oid) ? 0 : sizeBytes;
    if (addedBytes + moreBytes <= roomBytes) {
      chosen.set(oid, sizeBytes);
      addedBytes += moreBytes;
    } else {
      refused.set(oid, sizeBytes);
    }
  }
  return { chosen, refused, addedBytes };
}

/**
 * An upload of this size is verified, whatever its place in the batch. It may take longer than the queue waits after the
 * verify of a later one. And what is told of it is worth a request.
 */
const verifiedBytesMin = 8 * 1024 ** 2;

/**
 * Objects in a batch of git-lfs that is followed by another one, unless a push happens to end with it: the default of
 * `lfs.transfer.batchSize`. https://github.com/git-lfs/git-lfs/blob/main/tq/manifest.go
 */
const fullBatchObjects = 100;

/**
 * The uploads that the client is asked to verify. A verify asks for a reconcile, so it tells something when nothing is
 * left to upload: after the last, and after each that takes long. git-lfs begins uploads in the order of the answer, and
 * each verify holds up another one for a round trip. It also waits for the last one of a batch before it asks for the
 * next: a full batch of small objects is not verified, because another one follows.
 *
 * Nothing depends on it: what nobody verified is looked for (`lookAgainAtMs` in `lambda/core/ledger/rules/reconcile-policy.ts`).
 *
 * @param uploads oid → bytes, in the order of the answer.
 * @param batch.objects how many the client asked for.
 */
export function uploadsToVerify(
  uploads: ReadonlyMap<string, number>,
  batch: { readonly objects: number },
): ReadonlySet<string> {
  const oids = [...uploads.keys()];
  const large = oids.filter((oid) => (uploads.get(oid) ?? 0) >= verifiedBytesMin);
  return new Set([...large, ...(batch.objects === fullBatchObjects ? [] : oids.slice(-1))]);
}

/** A change of one object that the store reported. Each is reported at least once, in any order. */
export type StoreChange = ObjectPlace & {
  /** When the change was made, by the store's clock. */
  readonly atMs: number;
} & ({ readonly kind: 'created'; readonly sizeBytes: number } | { readonly kind: 'removed' });

/** Where an object is stored. `name` is what follows the repo in its key: an oid, or anything else. */
interface ObjectPlace {
  readonly tenant: string;
  readonly repo: string;
  readonly name: string;
}

/**
 * The place that a key names. Keys with more slashes still belong to their repo.
 *
 * @returns undefined for a key that belongs to no repo. Only a full scan finds such objects.
 */
export function placeOf(key: string): ObjectPlace | undefined {
  const [tenant = '', repo = '', ...rest] = key.split('/');
  const name = rest.join('/');
  if (!isTenantName(tenant) || !isRepoName(repo) || name === '') return undefined;
  return { tenant, repo, name };
}

/**
 * A note that a repo changed: a reservation without entries that is lapsed from the beginning.
 *
 * As with any lapsed reservation, the repo is due until a scan is committed that began after the note was read. If the
 * message of the queue is lost, the schedule finds the note. A scan that is under way does not clear the note. Nor
 * does the note make that scan void, as a dirty token would. So a stream of changes cannot keep a long scan from
 * being committed.
 */
export function changeIntent(
  settings: Settings,
  note: { id: string; repo: string; nowMs: number },
): Reservation {
  const { id, repo, nowMs } = note;
  // Dead by every clock.
  const lapsedAtMs = nowMs - 2 * settings.clockSkewMs;
  return {
    id,
    repo,
    lapsedAtMs,
    state: 'issued',
    entries: new Map(),
    createdAtMs: nowMs,
    expiresAtMs: lapsedAtMs,
    lookAtMs: null,
  };
}
