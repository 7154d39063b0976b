import { listReservations as listReservationsUseCase } from '../../use-cases/uploads/list-reservations.ts';
import { json } from '../respond.ts';
import { readerAccess } from './access.ts';
import { encodeReservationCursor } from './cursor.ts';
import { noBody, operation } from './operation.ts';
import { pageSizeDefault, reservationQuery } from './requests.ts';
import { reservationBody } from './responses.ts';

/** Repo by repo, a page at a time. What holds nothing is not shown, so a page may be shorter than asked for. */
export const listReservations = operation(
  { access: readerAccess, query: reservationQuery, body: noBody },
  async (deps, { tenant, query: { limit = pageSizeDefault, cursor, repo } }) => {
    const { reservations, next } = await listReservationsUseCase(deps, {
      tenant: tenant.tenant,
      pageSize: limit,
      ...(repo !== undefined && { repo }),
      ...(cursor && { after: cursor }),
    });
    return json(200, {
      reservations: reservations.map(reservationBody),
      nextCursor: next && encodeReservationCursor(next),
    });
  },
);
