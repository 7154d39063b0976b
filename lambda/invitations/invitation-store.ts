import * as z from 'zod';
import { nullable } from '../ledger/items.ts';
import { sha256Hex } from '../rules/hash.ts';
import { networkOf } from '../rules/network.ts';
import { absent, adding, all, setting } from '../table/expressions.ts';
import {
  allItems,
  deleteItem,
  getItem,
  inPartition,
  methodsOn,
  putItem,
  type Table,
  updateItem,
} from '../table/requests.ts';
import { expiring } from '../table/table.ts';
import {
  acceptedAgainMs,
  type DeviceRecord,
  deviceCounts,
  type InvitationRecord,
  invitationsMax,
  isKept,
} from './rules/invitations.ts';

const invitationItem = z.object({
  tenant: z.string(),
  invitationId: z.string(),
  secretSha256: z.string(),
  scope: z.enum(['read', 'write', 'manage']),
  repos: nullable(z.array(z.string())),
  user: nullable(z.string()),
  lifetimeMs: z.number(),
  inviterId: nullable(z.string()),
  inviter: nullable(z.string()),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  accepted: z.object({ atMs: z.number(), keySha256: z.string(), user: nullable(z.string()) }).exactOptional(),
});

interface InvitationKey {
  readonly tenant: string;
  readonly invitationId: string;
}

const partitionOf = (tenant: string) => `INVITATION#${tenant}`;
const invitationKey = ({ tenant, invitationId }: InvitationKey) => ({
  pk: partitionOf(tenant),
  sk: invitationId,
});

/**
 * Invitations, never their secrets. On the ledger's table, in a partition of each tenant, away from the counter's: anybody
 * can read there by a secret that they made up.
 */
export function createDynamoDbInvitations(table: Table) {
  return methodsOn(table, { find: findInvitation, list, put, accept, delete: revoke, deleteOf });
}

export type Invitations = ReturnType<typeof createDynamoDbInvitations>;

/** Strongly consistent, so that a revoked one makes no token. */
async function findInvitation(table: Table, key: InvitationKey): Promise<InvitationRecord | undefined> {
  const item = await getItem(table, invitationKey(key));
  return item && invitationItem.parse(item);
}

/** All of a tenant, the oldest first, some that are over among them. */
async function list(table: Table, tenant: string): Promise<readonly InvitationRecord[]> {
  const items = await allItems(table, inPartition(partitionOf(tenant)));
  const records = items.map((item) => invitationItem.parse(item));
  return records.sort((a, b) => a.createdAtMs - b.createdAtMs || (a.invitationId < b.invitationId ? -1 : 1));
}

/** Stores one, and removes those that are over: the table's TTL takes days. */
async function put(table: Table, record: InvitationRecord): Promise<'created' | 'full'> {
  const { tenant, createdAtMs } = record;
  const all = await list(table, tenant);
  const kept = all.filter((each) => isKept(each, createdAtMs));
  for (const over of all.filter((each) => !kept.includes(each)))
    await deleteItem(table, { key: invitationKey(over) });
  if (kept.length >= invitationsMax) return 'full';
  const item = { ...invitationKey(record), ...record, ...expiring(record.expiresAtMs) };
  await putItem(table, { item, condition: absent });
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
  await updateItem(table, {
    key: invitationKey(key),
    change: [setting({ accepted, ...expiring(accepted.atMs + acceptedAgainMs) })],
    condition: all('attribute_not_exists(#accepted)', '#expiresAtMs > :now'),
    values: { ':now': accepted.atMs },
  });
  return findInvitation(table, key);
}

/** One that is accepted is none any more: its token is revoked as such. */
async function revoke(table: Table, key: InvitationKey): Promise<'deleted' | 'absent'> {
  const { ok } = await deleteItem(table, {
    key: invitationKey(key),
    condition: all('attribute_exists(#pk)', 'attribute_not_exists(#accepted)'),
  });
  return ok ? 'deleted' : 'absent';
}

/** Removes all of an inviter. */
async function deleteOf(
  table: Table,
  { tenant, inviterId }: { tenant: string; inviterId: string },
): Promise<void> {
  const all = await list(table, tenant);
  for (const each of all.filter((invitation) => invitation.inviterId === inviterId))
    await revoke(table, each);
}

const deviceItem = z.object({
  userCodeSha256: z.string(),
  tokenId: z.string(),
  secretSha256: z.string(),
  machine: z.string(),
  address: z.string().optional(),
  expiresAtMs: z.number(),
  approvedBy: z.string().optional(),
});

/** 65,536 slots: however many strangers ask, no more is stored. */
const deviceKey = (userCodeSha256: string) => ({ pk: `DEVICE#${userCodeSha256.slice(0, 4)}`, sk: 'DEVICE' });
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
  const { ok } = await putItem(table, {
    item: { ...deviceKey(record.userCodeSha256), ...record, ...expiring(record.expiresAtMs) },
    condition: `${absent} OR #expiresAtMs <= :now`,
    values: { ':now': nowMs },
  });
  return ok ? 'stored' : 'taken';
}

/** One that still waits, or was approved while it could. */
async function findDevice(
  table: Table,
  { userCodeSha256, nowMs }: { userCodeSha256: string; nowMs: number },
): Promise<DeviceRecord | undefined> {
  const item = await getItem(table, deviceKey(userCodeSha256));
  const record = item && deviceItem.parse(item);
  return record?.userCodeSha256 === userCodeSha256 && record.expiresAtMs > nowMs ? record : undefined;
}

/** It keeps its slot until it ends: its code is no wrong one to its approver. */
async function markApproved(
  table: Table,
  { userCodeSha256, approvedBy }: DeviceRecord & { approvedBy: string },
): Promise<void> {
  await updateItem(table, {
    key: deviceKey(userCodeSha256),
    change: [setting({ approvedBy })],
    condition: all('#userCodeSha256 = :code', 'attribute_not_exists(#approvedBy)'),
    values: { ':code': userCodeSha256 },
  });
}

/** Counts something before it's done, so that no number of requests at once does more of it. */
async function count(table: Table, { nowMs, ...counted }: Counted & { nowMs: number }) {
  const key = countKey(counted);
  const { max, windowMs } = deviceCounts[counted.what];
  const expiresAtMs = nowMs + windowMs;
  const first = await putItem(table, {
    item: { ...key, tries: 1, expiresAtMs, ...expiring(expiresAtMs) },
    condition: `${absent} OR #expiresAtMs <= :now`,
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
