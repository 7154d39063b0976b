import type { Deps } from '../../deps.ts';
import { isDead, lateUntilMs } from '../../domain/reservation.ts';

/**
 * When the last live reservation of a repo is dead. Until then its URLs may bring back what it claims, so that is not
 * deleted.
 *
 * @param input.oid only the reservations that claim this object. Default: all.
 * @returns 0 if there is none.
 */
export async function heldUntilMs(
  { ledger, clock }: Pick<Deps, 'ledger' | 'clock'>,
  input: { tenant: string; repo: string; oid?: string },
): Promise<number> {
  const { tenant, repo, oid } = input;
  let untilMs = 0;
  for await (const page of ledger.reservationsOf({ tenant, repo, ofUploads: true })) {
    for (const reservation of page) {
      if (isDead(reservation, clock.nowMs())) continue;
      if (oid === undefined || reservation.claims.has(oid)) untilMs = Math.max(untilMs, reservation.deadAtMs);
    }
  }
  return untilMs;
}

/** What the reservations of a repo mean for objects that are to be deleted. */
export interface Holds {
  /** The objects that live reservations claim. They are not deleted, because a URL may bring them back. */
  readonly held: ReadonlySet<string>;
  /** When the last of these reservations is dead. 0 if there is none. */
  readonly untilMs: number;
  /** When the last PUT has ended whose URL is of one of the repo's reservations, live or dead. 0 if there is none. */
  readonly putsUntilMs: number;
}

/**
 * Reads a repo's reservations, a page at a time. Those of deletes are left out, or each delete would read what all
 * before it have left: none is late for longer than the repo's item says, and none is alive.
 *
 * @param input.names of the objects that are to be deleted.
 */
export async function readHolds(
  { ledger, clock }: Pick<Deps, 'ledger' | 'clock'>,
  input: { tenant: string; repo: string; names: Iterable<string> },
): Promise<Holds> {
  const { tenant, repo } = input;
  const names = new Set(input.names);
  const held = new Set<string>();
  let untilMs = 0;
  let putsUntilMs = 0;
  for await (const page of ledger.reservationsOf({ tenant, repo, ofUploads: true })) {
    for (const reservation of page) {
      if (reservation.claims.size > 0) putsUntilMs = Math.max(putsUntilMs, lateUntilMs(reservation));
      if (isDead(reservation, clock.nowMs())) continue;
      const claimed = [...reservation.claims.keys()].filter((oid) => names.has(oid));
      if (claimed.length > 0) untilMs = Math.max(untilMs, reservation.deadAtMs);
      for (const oid of claimed) held.add(oid);
    }
  }
  return { held, untilMs, putsUntilMs };
}
