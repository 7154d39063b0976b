import { cancelReservations } from '../../../use-cases/uploads/cancel-reservations.ts';
import { listReservations as listReservationsUseCase } from '../../../use-cases/uploads/list-reservations.ts';
import { json } from '../../respond.ts';
import { listedRepos, openTenantAccess, readerAccess } from '../access.ts';
import { encodeReservationCursor } from '../cursor.ts';
import { change, noBody, type Operations, operation } from '../operation.ts';
import { pageSizeDefault } from '../queries.ts';
import { reservationBody } from './bodies.ts';
import { cancelQuery, reservationQuery } from './requests.ts';

/** Repo by repo, a page at a time. What holds nothing is not shown, so a page may be shorter than asked for. */
const listReservations = operation(
  { access: readerAccess, query: reservationQuery, body: noBody },
  async (deps, { tenant, isAdmin, token, query: { limit = pageSizeDefault, cursor, repo } }) => {
    const of = listedRepos({ token }, repo);
    if ('refusal' in of) return of.refusal;
    const { reservations, next } = await listReservationsUseCase(deps, {
      tenant: tenant.tenant,
      pageSize: limit,
      repos: of.repos,
      ...(cursor && { after: cursor }),
    });
    return json(200, {
      reservations: reservations.map((reservation) => reservationBody(reservation, { isAdmin, token })),
      nextCursor: next && encodeReservationCursor(next),
    });
  },
);

/** As many as one request can delete in time. While a tenant is being deleted, they say that objects might still arrive. */
const cancelLate = change(
  { action: 'reservations.cancel', access: openTenantAccess, query: cancelQuery, body: noBody },
  async (deps, { tenant: { tenant }, query, trail }) => {
    const { count, bytes, hasMore } = await cancelReservations(deps, { tenant, ...query });
    trail.became({ cancelledCount: count, bytes, hasMore });
    return json(200, { tenant, cancelledCount: count, bytes, hasMore });
  },
);

export const reservationOperations = {
  'GET /v1/tenants/{tenant}/reservations': listReservations,
  'DELETE /v1/tenants/{tenant}/reservations': cancelLate,
} satisfies Operations;
