import { sha256Hex } from '../../core/rules/hash.ts';
import { networkOf } from '../../core/rules/network.ts';
import { adding, all, exists } from '../../core/table/expressions.ts';
import { absentOrOver, oldestFirst, recordsOf } from '../../core/table/records.ts';
import { inPartition, methodsOn, putItem, type Table, updateItem } from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';
import {
  acceptedAgainMs,
  type DeviceRecord,
  deviceCounts,
  deviceSchema,
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

const deviceFields = (record: DeviceRecord) => ({ ...record, ...expiring(record.expiresAtMs) });
const devices = recordsOf<Pick<DeviceRecord, 'userCodeSha256'>, DeviceRecord>({
  // 65,536 slots: however many strangers ask, no more is stored.
  keyOf: ({ userCodeSha256 }) => ({ pk: `DEVICE#${userCodeSha256.slice(0, 4)}`, sk: 'DEVICE' }),
  schema: deviceSchema,
  fields: deviceFields,
});
/** By the address that starts logins, the tenant that tries codes, or the token that approves them. */
type Counted = { readonly what: keyof typeof deviceCounts; readonly of: string };
/** Addresses share as many slots: one of them is counted with few others. */
const countKey = ({ what, of }: Counted) => ({
  pk: `DEVICE#${what === 'starts' ? sha256Hex(networkOf(of)).slice(0, 4) : of}`,
  sk: what.toUpperCase(),
});

/** Command lines that wait to be approved. On the ledger's table, in a bounded number of slots. */
export function createDynamoDbDevices(table: Table) {
  return methodsOn(table, { put: putDevice, find: findDevice, approve: markApproved, count, takeBackTry });
}

export type Devices = ReturnType<typeof createDynamoDbDevices>;

/** `taken`: the slot has another one that still waits. */
async function putDevice(
  table: Table,
  { record, nowMs }: { record: DeviceRecord; nowMs: number },
): Promise<'stored' | 'taken'> {
  const isOver = { condition: absentOrOver, values: { ':now': nowMs } };
  return (await devices.put(table, record, isOver)) ? 'stored' : 'taken';
}

/** One that still waits, or was approved while it could. */
async function findDevice(
  table: Table,
  { userCodeSha256, nowMs }: { userCodeSha256: string; nowMs: number },
): Promise<DeviceRecord | undefined> {
  const record = await devices.read(table, { userCodeSha256 });
  return record?.userCodeSha256 === userCodeSha256 && record.expiresAtMs > nowMs ? record : undefined;
}

/** It keeps its slot until it ends: its code is no wrong one to its approver. */
async function markApproved(
  table: Table,
  { userCodeSha256, approvedBy }: DeviceRecord & { approvedBy: string },
): Promise<void> {
  const condition = all('#userCodeSha256 = :code', 'attribute_not_exists(#approvedBy)');
  const values = { ':code': userCodeSha256 };
  await devices.set(table, { userCodeSha256 }, { approvedBy }, { condition, values });
}

/** Counts something before it's done, so that no number of requests at once does more of it. */
async function count(table: Table, { nowMs, ...counted }: Counted & { nowMs: number }) {
  const key = countKey(counted);
  const { max, windowMs } = deviceCounts[counted.what];
  const expiresAtMs = nowMs + windowMs;
  const first = await putItem(table, {
    item: { ...key, tries: 1, expiresAtMs, ...expiring(expiresAtMs) },
    condition: absentOrOver,
    values: { ':now': nowMs },
  });
  if (first.ok) return 'counted';
  const values = { ':max': max };
  const more = { key, change: [adding({ tries: 1 })], condition: '#tries < :max', values };
  return (await updateItem(table, more)).ok ? 'counted' : 'too-many';
}

/** After a code that was right. The wrong ones stay counted: anybody can have a code that is right. */
async function takeBackTry(table: Table, tenant: string): Promise<void> {
  await updateItem(table, {
    key: countKey({ what: 'tries', of: tenant }),
    change: [adding({ tries: -1 })],
    condition: '#tries > :none',
    values: { ':none': 0 },
  });
}
