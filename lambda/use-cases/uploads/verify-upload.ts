import { objectKey } from '../../domain/names.ts';
import { isDead, reservationIdOf } from '../../domain/reservation.ts';
import type { Deps } from '../deps.ts';

export type VerifyOutcome =
  | { readonly kind: 'verified' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'wrong-size'; readonly storedBytes: number }
  /** No verify token, or one of no live reservation for this repo and object. */
  | { readonly kind: 'unauthenticated' };

/**
 * Asks the store whether an upload arrived, and asks for a recount. Writes nothing to the ledger: the
 * accounting never depends on a client that verifies.
 */
export async function verifyUpload(
  deps: Pick<Deps, 'ledger' | 'store' | 'queue' | 'clock'>,
  input: { tenant: string; repo: string; oid: string; sizeBytes: number; verifyToken: string | undefined },
): Promise<VerifyOutcome> {
  const { tenant, repo, oid, verifyToken } = input;
  if (!verifyToken) return { kind: 'unauthenticated' };
  const [reservation, stored] = await Promise.all([
    deps.ledger.readReservation({ tenant, reservationId: reservationIdOf(verifyToken) }),
    deps.store.head(objectKey({ tenant, repo, oid })),
  ]);
  const mayAsk =
    reservation?.state === 'issued' &&
    reservation.repo === repo &&
    reservation.claims.has(oid) &&
    !isDead(reservation, deps.clock.nowMs());
  if (!mayAsk) return { kind: 'unauthenticated' };
  await deps.queue.request({ tenant, reason: 'verify', full: false });
  if (!stored) return { kind: 'missing' };
  return stored.sizeBytes === input.sizeBytes
    ? { kind: 'verified' }
    : { kind: 'wrong-size', storedBytes: stored.sizeBytes };
}
