import { DeleteCommand, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { Reservation } from '../../domain/reservation.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { send, sendIf } from './client.ts';
import { absent, aliases, exists, type Table } from './expressions.ts';
import { dueKey, parseReservation, reservationKey } from './items.ts';
import { itemsBelow } from './pages.ts';

type ReservationMethods =
  | 'putReservation'
  | 'issueReservation'
  | 'deleteReservation'
  | 'voidReservation'
  | 'readReservation'
  | 'reservations';

/** Reservation items: pending resolves once, to issued or to gone. */
export function reservationMethods(table: Table): Pick<Ledger, ReservationMethods> {
  return {
    putReservation: (input) => putReservation(table, input),
    issueReservation: (input) => issueReservation(table, input),
    deleteReservation: (input) => deleteReservation(table, input),
    voidReservation: (input) => voidReservation(table, input),
    readReservation: (input) => readReservation(table, input),
    reservations: (tenant) => reservations(table, tenant),
  };
}

async function putReservation(table: Table, input: { tenant: string; reservation: Reservation }) {
  const { id, claims, ...rest } = input.reservation;
  // A failed condition is our own retry after a lost answer: ids are random, nobody else has this one.
  await sendIf(() =>
    table.client.send(
      new PutCommand({
        TableName: table.tableName,
        Item: {
          ...reservationKey({ tenant: input.tenant, reservationId: id }),
          ...dueKey({ kind: 'RESERVATION', tenant: input.tenant, dueAtMs: rest.deadAtMs }),
          reservationId: id,
          claims: Object.fromEntries(claims),
          ...rest,
        },
        ConditionExpression: absent,
        ExpressionAttributeNames: aliases('pk'),
      }),
    ),
  );
}

async function issueReservation(
  table: Table,
  input: { tenant: string; reservationId: string; claims: ReadonlyMap<string, number> },
) {
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: reservationKey(input),
        UpdateExpression: 'SET #state = :issued, #claims = :claims',
        ConditionExpression: exists,
        ExpressionAttributeNames: aliases('pk', 'state', 'claims'),
        ExpressionAttributeValues: { ':issued': 'issued', ':claims': Object.fromEntries(input.claims) },
      }),
    ),
  );
  return result.ok ? ('issued' as const) : ('gone' as const);
}

async function deleteReservation(table: Table, input: { tenant: string; reservationId: string }) {
  const output = await send(() =>
    table.client.send(
      new DeleteCommand({ TableName: table.tableName, Key: reservationKey(input), ReturnValues: 'ALL_OLD' }),
    ),
  );
  return output.Attributes ? ('deleted' as const) : ('absent' as const);
}

async function voidReservation(table: Table, input: { tenant: string; reservationId: string }) {
  const result = await sendIf(() =>
    table.client.send(
      new DeleteCommand({
        TableName: table.tableName,
        Key: reservationKey(input),
        ConditionExpression: `${absent} OR #state = :pending`,
        ExpressionAttributeNames: aliases('pk', 'state'),
        ExpressionAttributeValues: { ':pending': 'pending' },
      }),
    ),
  );
  return result.ok ? ('gone' as const) : ('issued' as const);
}

async function readReservation(table: Table, input: { tenant: string; reservationId: string }) {
  const output = await send(() =>
    table.client.send(
      new GetCommand({ TableName: table.tableName, Key: reservationKey(input), ConsistentRead: true }),
    ),
  );
  return output.Item && parseReservation(output.Item);
}

async function* reservations(table: Table, tenant: string): AsyncIterable<readonly Reservation[]> {
  for await (const items of itemsBelow(table, { tenant, kind: 'RESERVATION#' }))
    yield items.map(parseReservation);
}
