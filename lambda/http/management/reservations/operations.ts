import { encodeReservationCursor, pageSizeDefault } from '../../../api/contract/fields.ts';
import { json } from '../../../api/http.ts';
import { listedRepos, readerAccess } from '../../../api/management/access.ts';
import { cancelReservations } from '../../../use-cases/uploads/cancel-reservations.ts';
import { listReservations as listReservationsUseCase } from '../../../use-cases/uploads/list-reservations.ts';
import { change, noBody, type Operations, openTenantAccess, operation } from '../operation.ts';
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
