import type { Deps } from '../../deps.ts';
import { isDead, reservationIdOf } from '../../domain/reservation.ts';
import { objectKey } from '../../rules/names.ts';
import { requestOrLog } from '../recounts/request-or-log.ts';

export type VerifyOutcome =
  | { readonly kind: 'verified' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'wrong-size'; readonly storedBytes: number }
  /** No verify token, or no live issued reservation of this repo and object belongs to it. */
  | { readonly kind: 'unauthenticated' };

/**
 * Asks the store whether an upload arrived, and queues a recount. Writes nothing to the ledger: the accounting must
 * not depend on clients that verify.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function verifyUpload(
  deps: Pick<Deps, 'ledger' | 'store' | 'queue' | 'clock' | 'log'>,
  input: { tenant: string; repo: string; oid: string; sizeBytes: number; verifyToken: string | undefined },
): Promise<VerifyOutcome> {
  const { tenant, repo, oid, verifyToken } = input;
  if (!verifyToken) return { kind: 'unauthenticated' };
  const [reservation, stored] = await Promise.all([
    deps.ledger.readReservation({ tenant, repo, reservationId: reservationIdOf(verifyToken) }),
    deps.store.head(objectKey({ tenant, repo, oid })),
  ]);
  const isTokenValid =
    reservation?.state === 'issued' &&
    reservation.repo === repo &&
    reservation.claims.has(oid) &&
    !isDead(reservation, deps.clock.nowMs());
  if (!isTokenValid) return { kind: 'unauthenticated' };
  await requestOrLog(deps, { tenant, reason: 'verify', full: false });
  if (!stored) return { kind: 'missing' };
  return stored.sizeBytes === input.sizeBytes
    ? { kind: 'verified' }
    : { kind: 'wrong-size', storedBytes: stored.sizeBytes };
}
