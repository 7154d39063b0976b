import { all, exists } from '../../core/table/expressions.ts';
import { oldestFirst, recordsOf } from '../../core/table/records.ts';
import { inPartition, methodsOn, type Table } from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';
import {
  acceptedAgainMs,
  type InvitationRecord,
  invitationSchema,
  invitationsMax,
  isKept,
} from './rules/invitations.ts';

type InvitationKey = Pick<InvitationRecord, 'tenant' | 'invitationId'>;

const partitionOf = (tenant: string) => `INVITATION#${tenant}`;
const invitationFields = (record: InvitationRecord) => ({ ...record, ...expiring(record.expiresAtMs) });
const records = recordsOf<InvitationKey, InvitationRecord>({
  keyOf: ({ tenant, invitationId }) => ({ pk: partitionOf(tenant), sk: invitationId }),
  schema: invitationSchema,
  fields: invitationFields,
});

/**
 * Invitations, never their secrets. On the ledger's table, in a partition of each tenant, away from the counter's: anybody
 * can read there by a secret that they made up. A revoked one makes no token: reads are strongly consistent.
 */
export function createDynamoDbInvitations(table: Table) {
  return methodsOn(table, { find: records.read, list, put, accept, delete: revoke, deleteOf });
}

export type Invitations = ReturnType<typeof createDynamoDbInvitations>;

/** All of a tenant, the oldest first, some that are over among them. */
async function list(table: Table, tenant: string): Promise<readonly InvitationRecord[]> {
  const found = await records.list(table, inPartition(partitionOf(tenant)));
  return oldestFirst(found, ({ invitationId }) => invitationId);
}

/** Stores one, and removes those that are over: the table's TTL takes days. */
async function put(table: Table, record: InvitationRecord): Promise<'created' | 'full'> {
  const { tenant, createdAtMs } = record;
  const all = await list(table, tenant);
  const over = all.filter((each) => !isKept(each, createdAtMs));
  for (const each of over) await records.remove(table, each);
  if (all.length - over.length >= invitationsMax) return 'full';
  await records.put(table, record);
  return 'created';
}

/**
 * Marks one as accepted, once.
 *
 * @returns it as it is from now on: accepted by this request, or by another. undefined: there's none any more.
 */
async function accept(
  table: Table,
  { accepted, ...key }: InvitationKey & { accepted: NonNullable<InvitationRecord['accepted']> },
): Promise<InvitationRecord | undefined> {
  const until = expiring(accepted.atMs + acceptedAgainMs);
  const condition = all('attribute_not_exists(#accepted)', '#expiresAtMs > :now');
  await records.set(table, key, { accepted, ...until }, { condition, values: { ':now': accepted.atMs } });
  return records.read(table, key);
}

/** One that is accepted is none any more: its token is revoked as such. */
async function revoke(table: Table, key: InvitationKey): Promise<'deleted' | 'absent'> {
  const condition = all(exists, 'attribute_not_exists(#accepted)');
  return (await records.remove(table, key, { condition })) ? 'deleted' : 'absent';
}

/** Removes all of an inviter. */
async function deleteOf(table: Table, { tenant, inviterId }: { tenant: string; inviterId: string }) {
  for (const each of await list(table, tenant)) if (each.inviterId === inviterId) await revoke(table, each);
}
