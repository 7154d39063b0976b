import { isRepoName, isTenantName } from '../rules/names.ts';
import type { Settings } from '../rules/settings.ts';
import type { Reservation } from './reservation.ts';

/** A change of one object that the store reported. Each is reported at least once, in any order. */
export type StoreChange = ObjectPlace & {
  /** When the change was made, by the store's clock. */
  readonly atMs: number;
} & ({ readonly kind: 'created'; readonly sizeBytes: number } | { readonly kind: 'removed' });

/** Where an object is stored. `name` is what follows the repo in its key: an oid, or anything else. */
export interface ObjectPlace {
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
 * A note that a repo changed: a reservation without claims that is dead from the beginning.
 *
 * As with any dead reservation, the repo is due until a scan is committed that began after the note was read. If the
 * message of the queue is lost, the schedule finds the note. A scan that is under way does not clear the note. Nor
 * does the note make that scan void, as a dirty token would. So a stream of changes cannot keep a long scan from
 * being committed.
 */
export function changeNote(
  settings: Settings,
  note: { id: string; repo: string; nowMs: number },
): Reservation {
  const { id, repo, nowMs } = note;
  // Dead by every clock.
  const deadAtMs = nowMs - 2 * settings.clockSkewMs;
  return {
    id,
    repo,
    deadAtMs,
    state: 'issued',
    claims: new Map(),
    createdAtMs: nowMs,
    expiresAtMs: deadAtMs,
    lookAtMs: null,
  };
}
