import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import {
  cancelReservations,
  listReservations,
  type ShownReservation,
} from '../../core/ledger/reservations.ts';
import { makerOf } from '../../core/ledger/rules/reservation.ts';
import { json } from '../api/http.ts';
import { iso, pageSizeDefault } from '../contract/fields.ts';
import { type ReservationBody, reservationContract, reservationCursor } from '../contract/reservations.ts';
import { isManager, listedRepos, type Reader } from './access.ts';
import { operationsFor } from './operations.ts';

type Needs = Pick<CoreDeps, 'queue' | 'claims'>;

export const reservationOperations = operationsFor<Needs>()(reservationContract, {
  /** Repo by repo, a page at a time. What holds nothing is not shown, so a page may be shorter than asked for. */
  'GET /v1/tenants/{tenant}/reservations': async (
    deps,
    { tenant, isAdmin, token, query: { limit = pageSizeDefault, cursor, repo } },
  ) => {
    const of = listedRepos({ token }, repo);
    if ('refusal' in of) return of.refusal;
    const { reservations, next } = await listReservations(deps, {
      tenant: tenant.tenant,
      pageSize: limit,
      repos: of.repos,
      ...(cursor && { after: cursor }),
    });
    return json(200, {
      reservations: reservations.map((reservation) => reservationBody(reservation, { isAdmin, token })),
      nextCursor: next && reservationCursor.encode(next),
    });
  },

  /** As many as one request can delete in time. While a tenant is being deleted, they say that objects might still arrive. */
  'DELETE /v1/tenants/{tenant}/reservations': async (deps, { tenant: { tenant }, query, trail }) => {
    const { count, bytes, hasMore } = await cancelReservations(deps, { tenant, ...query });
    trail.became({ cancelledCount: count, bytes, hasMore });
    return json(200, { tenant, cancelledCount: count, bytes, hasMore });
  },
});

/** @param reader other readers than managers learn of no token but their own. */
function reservationBody(reservation: ShownReservation, reader: Reader): ReservationBody {
  const { id, repo, state, objectCount, bytes, hasArrived, madeBy } = reservation;
  const isOwn = reader.token !== undefined && madeBy === makerOf(reader.token);
  return {
    id,
    repo,
    state,
    objectCount,
    bytes,
    arrived: hasArrived,
    madeBy: isOwn || isManager(reader) ? madeBy : null,
    createdAt: iso(reservation.createdAtMs),
    expiresAt: iso(reservation.expiresAtMs),
    reservedUntil: iso(reservation.heldUntilMs),
  };
}
