import { onceMoreIdStart, type Reservation } from '../../domain/reservation.ts';
import type { Input, Output, ReservationLedger } from '../../ports/ledger.ts';
import { absent, exists, setting } from './expressions.ts';
import { dueKey, ofRepo, parseReservation, reservationKey } from './items.ts';
import { itemsBelow, keysAfter, onePage, pagesOf } from './pages.ts';
import { deleteItem, getItem, moveToKey, putItem, type Table, updateItem } from './requests.ts';
import { byDueIndex } from './table.ts';

/** Reservation items. */
export function reservationMethods(table: Table): ReservationLedger {
  return {
    putReservation: (input) => putReservation(table, input),
    issueReservation: (input) => issueReservation(table, input),
    keepLate: (input) => keepLate(table, input),
    deleteReservation: (input) => deleteReservation(table, input),
    voidReservation: (input) => voidReservation(table, input),
    readReservation: (input) => readReservation(table, input),
    reservations: (tenant) => reservations(table, tenant),
    reservationsOf: (input) => reservationsOf(table, input),
    listReservations: (input) => listReservations(table, input),
  };
}

async function putReservation(
  table: Table,
  { tenant, reservation, dueAtMs }: Input<'putReservation'>,
): Output<'putReservation'> {
  const { id, claims, lookAtMs, ...rest } = reservation;
  // If it exists, this is our own retry after a lost answer: ids are random, so nobody else has this one.
  await putItem(table, {
    item: {
      ...reservationKey({ tenant, repo: rest.repo, reservationId: id }),
      ...dueKey({ kind: 'RESERVATION', tenant, dueAtMs: dueAtMs ?? lookAtMs ?? rest.deadAtMs }),
      reservationId: id,
      claims: Object.fromEntries(claims),
      lookAtMs: lookAtMs ?? undefined,
      ...rest,
    },
    condition: absent,
  });
}

async function issueReservation(table: Table, input: Input<'issueReservation'>): Output<'issueReservation'> {
  const result = await updateItem(table, {
    key: reservationKey(input),
    change: [
      setting(
        { state: 'issued', claims: Object.fromEntries(input.claims) },
        { copies: { [byDueIndex.sk]: 'deadAtMs' } },
      ),
    ],
    condition: exists,
  });
  return result.ok ? 'issued' : 'gone';
}

async function keepLate(table: Table, input: Input<'keepLate'>): Output<'keepLate'> {
  const { lookAtMs } = input;
  const claims = Object.fromEntries(input.claims);
  const result = await updateItem(table, {
    key: reservationKey(input),
    change: [setting({ claims, lookAtMs, [byDueIndex.sk]: lookAtMs })],
    condition: exists,
  });
  return result.ok ? 'kept' : 'gone';
}

async function deleteReservation(
  table: Table,
  input: Input<'deleteReservation'>,
): Output<'deleteReservation'> {
  const result = await deleteItem(table, { key: reservationKey(input), returns: 'ALL_OLD' });
  return result.ok && result.attributes ? 'deleted' : 'absent';
}

async function voidReservation(table: Table, input: Input<'voidReservation'>): Output<'voidReservation'> {
  const result = await deleteItem(table, {
    key: reservationKey(input),
    condition: `${absent} OR #state = :pending`,
    values: { ':pending': 'pending' },
  });
  return result.ok ? 'gone' : 'issued';
}

async function readReservation(table: Table, input: Input<'readReservation'>): Output<'readReservation'> {
  const item = await getItem(table, reservationKey(input));
  return item && parseReservation(item);
}

async function* reservations(table: Table, tenant: Input<'reservations'>): Output<'reservations'> {
  for await (const items of itemsBelow(table, { tenant, prefix: 'RESERVATION#' })) {
    const read: Reservation[] = [];
    for (const item of items) {
      const reservation = parseReservation(item);
      const { repo, id: reservationId } = reservation;
      // Older versions wrote keys without a repo.
      await moveToKey(table, item, reservationKey({ tenant, repo, reservationId }));
      read.push(reservation);
    }
    yield read;
  }
}

async function* reservationsOf(table: Table, input: Input<'reservationsOf'>): Output<'reservationsOf'> {
  const { tenant, repo, ofUploads } = input;
  const prefix = ofRepo('RESERVATION', repo);
  const query = keysAfter({ tenant, prefix, ...(ofUploads && { before: prefix + onceMoreIdStart }) });
  for await (const items of pagesOf(table, query))
    yield items.map(parseReservation).filter((reservation) => reservation.repo === repo);
}

async function listReservations(table: Table, input: Input<'listReservations'>): Output<'listReservations'> {
  const { tenant, repo, after, pageSize } = input;
  const { items, hasMore } = await onePage(table, {
    ...keysAfter({
      tenant,
      prefix: repo === undefined ? 'RESERVATION#' : ofRepo('RESERVATION', repo),
      after: after && reservationKey({ tenant, ...after }).sk,
    }),
    Limit: pageSize,
  });
  const read = items.map(parseReservation);
  const last = hasMore ? read.at(-1) : undefined;
  return {
    reservations: read.filter((reservation) => repo === undefined || reservation.repo === repo),
    next: last ? { repo: last.repo, reservationId: last.id } : null,
  };
}
