import { claimKey } from './admission.ts';
import { isDead, type Reservation } from './reservation.ts';
import type { Settings } from './settings.ts';
import type { RepoRecord, TenantRecord } from './tenant.ts';

/** What one reconcile's scan found in a repo. */
export interface RepoScan {
  readonly storedBytes: number;
  readonly objectCount: number;
  /** The oids that the scan was to look for and saw. */
  readonly seen: ReadonlySet<string>;
}

/**
 * Repos whose count may be out of date: those that are dirty, that have a reservation no scan has covered, or that a
 * delete is noted for, whether its deleter lives or died.
 */
export function reposToScan(input: {
  repos: readonly RepoRecord[];
  reservations: readonly Reservation[];
  tenant: TenantRecord;
}): Set<string> {
  const byName = new Map(input.repos.map((repo) => [repo.repo, repo]));
  const due = new Set(input.repos.filter((repo) => repo.dirtyToken !== null).map((repo) => repo.repo));
  for (const reservation of input.reservations) {
    if (!byName.get(reservation.repo)?.covered.has(reservation.id)) due.add(reservation.repo);
  }
  for (const note of input.tenant.notes.values()) due.add(note.repo);
  return due;
}

/**
 * Notes that one commit removes, at most: DynamoDB takes no update expression above 4,096 bytes, which 230 notes
 * would fill. Leaving some is safe. The floor of the commit has the bytes of all notes taken off, and a note that
 * stays takes them off the next floor too, so the floor is never too high. Its repo is scanned once more.
 */
const expiredNotesMax = 100;

/** Ids of notes whose delete can no longer be running, whichever clock is asked. The oldest come first. */
export function expiredNotes(settings: Settings, tenant: TenantRecord, nowMs: number): string[] {
  return [...tenant.notes]
    .filter(([, note]) => nowMs > note.deadlineMs + 2 * settings.clockSkewMs)
    .sort(([, a], [, b]) => a.deadlineMs - b.deadlineMs)
    .slice(0, expiredNotesMax)
    .map(([id]) => id);
}

/**
 * Ids that a repo keeps of the reservations that its scan covered, at most. DynamoDB takes no item above 400 KB, which
 * 12,400 ids would fill, and then no recount could be committed. Leaving one out is safe: the repo is scanned once
 * more.
 */
const coveredIdsMax = 5000;

/**
 * Ids of the reservations for which their repo needs no further scan: the scan saw every object, or the reservation
 * was dead before the scan began, so everything it brought was there to be counted. If there are too many, live ones
 * are kept first, because the reconcile deletes the dead ones.
 */
export function coveredBy(
  scan: RepoScan,
  reservations: readonly Reservation[],
  scanBeganMs: number,
): Set<string> {
  const live: string[] = [];
  const dead: string[] = [];
  for (const reservation of reservations) {
    if (isDead(reservation, scanBeganMs)) dead.push(reservation.id);
    else if ([...reservation.claims.keys()].every((oid) => scan.seen.has(oid))) live.push(reservation.id);
  }
  return new Set([...live, ...dead].slice(0, coveredIdsMax));
}

export interface Recomputed {
  readonly storedBytes: number;
  readonly objectCount: number;
  /** Stored plus everything that may still arrive, at its largest. The counter is corrected to this. */
  readonly totalBytes: number;
  /** Stored plus what issued reservations may still bring, at its smallest. The floor before deletes are taken off. */
  readonly leastBytes: number;
  /**
   * `leastBytes` holds until then: the first of the reservations that it counts may be dead after that, and its claims
   * are no longer taken up. 2^53 − 1 if it counts none.
   */
  readonly leastUntilMs: number;
}

/**
 * Computes a tenant's values from the counts of its repos and from what its live reservations may still bring.
 *
 * If several sizes were claimed for one object, at most one of them is true, and the store accepts no other. So
 * `totalBytes` counts the largest claim, and `leastBytes` the smallest issued one.
 *
 * @param input.scans repo → what this reconcile's scan found. For other repos, the last count still holds.
 */
export function recompute(input: {
  repos: readonly RepoRecord[];
  scans: ReadonlyMap<string, RepoScan>;
  reservations: readonly Reservation[];
  scanBeganMs: number;
  settings: Settings;
}): Recomputed {
  const unchanged = input.repos.filter((repo) => !input.scans.has(repo.repo));
  const counts = [...input.scans.values(), ...unchanged];
  const storedBytes = counts.reduce((sum, repo) => sum + repo.storedBytes, 0);

  const most = new Map<string, number>();
  const least = new Map<string, number>();
  let leastUntilMs = Number.MAX_SAFE_INTEGER;
  for (const reservation of input.reservations) {
    const scan = input.scans.get(reservation.repo);
    if (!scan || isDead(reservation, input.scanBeganMs)) continue;
    for (const [oid, sizeBytes] of reservation.claims) {
      if (scan.seen.has(oid)) continue;
      const object = claimKey({ repo: reservation.repo, oid });
      most.set(object, Math.max(sizeBytes, most.get(object) ?? 0));
      if (reservation.state !== 'issued') continue;
      least.set(object, Math.min(sizeBytes, least.get(object) ?? sizeBytes));
      leastUntilMs = Math.min(leastUntilMs, reservation.deadAtMs - 2 * input.settings.clockSkewMs);
    }
  }
  const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);
  return {
    storedBytes,
    objectCount: counts.reduce((total, repo) => total + repo.objectCount, 0),
    totalBytes: storedBytes + sum(most.values()),
    leastBytes: storedBytes + sum(least.values()),
    leastUntilMs,
  };
}

/**
 * True if a full scan found exactly the values in the ledger, and nothing is under way: no upload, no delete.
 */
export function isUnchanged(input: {
  before: TenantRecord;
  recomputed: Recomputed;
  repos: readonly RepoRecord[];
  reservations: readonly Reservation[];
}): boolean {
  const { before, recomputed } = input;
  return (
    before.counted?.storedBytes === recomputed.storedBytes &&
    before.counted.objectCount === recomputed.objectCount &&
    before.committedBytes === recomputed.totalBytes &&
    before.notes.size === 0 &&
    input.reservations.length === 0 &&
    input.repos.every((repo) => repo.dirtyToken === null && repo.closedAtMs === null)
  );
}
