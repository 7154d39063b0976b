import { isRepoName, isTenantName } from './names.ts';
import type { Reservation } from './reservation.ts';
import type { Settings } from './settings.ts';

/** What the store tells of one object of a repo: at least once, in no order. */
export type StoreChange = ObjectPlace & {
  /** When the store had done it, by the store's clock. */
  readonly atMs: number;
} & ({ readonly kind: 'created'; readonly sizeBytes: number } | { readonly kind: 'removed' });

/** Where an object lies; `name` is what follows the repo, an oid or anything else. */
export interface ObjectPlace {
  readonly tenant: string;
  readonly repo: string;
  readonly name: string;
}

/**
 * The place that a key names. Undefined for keys that belong to no repo: those a full listing finds.
 * What lies deeper than an oid would is still of its repo.
 */
export function placeOf(key: string): ObjectPlace | undefined {
  const [tenant = '', repo = '', ...rest] = key.split('/');
  const name = rest.join('/');
  if (!isTenantName(tenant) || !isRepoName(repo) || name === '') return undefined;
  return { tenant, repo, name };
}

/**
 * A note that a repo changed: a reservation that promises nothing and is dead from the beginning.
 *
 * As with any dead reservation, the repo is due until a scan that began after it was read has been committed,
 * and the schedule finds it should its message be lost. A scan under way neither sees nor clears it, and, other
 * than with a dirty token, is not made void by it: a stream of changes can't keep a long scan from its end.
 */
export function changeNote(
  settings: Settings,
  note: { id: string; repo: string; nowMs: number },
): Reservation {
  const { id, repo, nowMs } = note;
  // Dead by anybody's clock.
  const deadAtMs = nowMs - 2 * settings.clockSkewMs;
  return {
    id,
    repo,
    deadAtMs,
    state: 'issued',
    claims: new Map(),
    createdAtMs: nowMs,
    expiresAtMs: deadAtMs,
  };
}
