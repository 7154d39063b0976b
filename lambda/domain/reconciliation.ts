import { claimKey } from './admission.ts';
import { isDead, type Reservation } from './reservation.ts';
import type { Settings } from './settings.ts';
import type { RepoRecord, TenantRecord } from './tenant.ts';

/** What one reconcile's scan found of a repo. */
export interface RepoScan {
  readonly storedBytes: number;
  readonly objectCount: number;
  /** Those oids of reservations that the scan saw. */
  readonly seen: ReadonlySet<string>;
}

/**
 * Repos whose count can be out of date: dirty, with a reservation that no scan has covered, or with a delete
 * under way, alive or dead.
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

/** Ids of the notes whose delete can no longer be at work, whatever the clocks say. */
export function expiredNotes(settings: Settings, tenant: TenantRecord, nowMs: number): string[] {
  return [...tenant.notes]
    .filter(([, note]) => nowMs > note.deadlineMs + 2 * settings.clockSkewMs)
    .map(([id]) => id);
}

/**
 * Ids of the reservations that a scan of their repo settled: every object was seen, or it was dead before
 * the scan began, so that whatever it brought was there to be counted.
 */
export function coveredBy(
  scan: RepoScan,
  reservations: readonly Reservation[],
  scanBeganMs: number,
): Set<string> {
  const covered = new Set<string>();
  for (const reservation of reservations) {
    const settled =
      isDead(reservation, scanBeganMs) || [...reservation.claims.keys()].every((oid) => scan.seen.has(oid));
    if (settled) covered.add(reservation.id);
  }
  return covered;
}

export interface Recomputed {
  readonly storedBytes: number;
  readonly objectCount: number;
  /** Stored plus all that may still arrive, at its largest: what the counter is corrected to. */
  readonly totalBytes: number;
  /** Stored plus what surely was handed out, at its smallest: the floor before deletes are taken off. */
  readonly leastBytes: number;
  /** Until when `leastBytes` holds: the first death among what it counts that is not stored. */
  readonly leastUntilMs: number;
}

/**
 * The tenant's values from the counts of its repos and what its live reservations may still bring.
 *
 * Of several sizes that were claimed for one object at most one is true: the store takes no other. So
 * `totalBytes` counts the largest, and `leastBytes`, of issued claims alone, the smallest.
 */
export function recompute(input: {
  repos: readonly RepoRecord[];
  scans: ReadonlyMap<string, RepoScan>;
  reservations: readonly Reservation[];
  scanBeganMs: number;
  settings: Settings;
}): Recomputed {
  const scanned = [...input.scans.values()];
  const unscanned = input.repos.filter((repo) => !input.scans.has(repo.repo));
  const counts = [...scanned, ...unscanned];
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
