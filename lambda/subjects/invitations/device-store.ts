import { sha256Hex } from '../../core/rules/hash.ts';
import { networkOf } from '../../core/rules/network.ts';
import { adding, all } from '../../core/table/expressions.ts';
import { absentOrOver, recordsOf } from '../../core/table/records.ts';
import { methodsOn, putItem, type Table, updateItem } from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';
import { type DeviceRecord, deviceCounts, deviceSchema } from './rules/invitations.ts';

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
  return methodsOn(table, { put, find, approve, count, takeBackTry });
}

export type Devices = ReturnType<typeof createDynamoDbDevices>;

/** `taken`: the slot has another one that still waits. */
async function put(
  table: Table,
  { record, nowMs }: { record: DeviceRecord; nowMs: number },
): Promise<'stored' | 'taken'> {
  const isOver = { condition: absentOrOver, values: { ':now': nowMs } };
  return (await devices.put(table, record, isOver)) ? 'stored' : 'taken';
}

/** One that still waits, or was approved while it could. */
async function find(
  table: Table,
  { userCodeSha256, nowMs }: { userCodeSha256: string; nowMs: number },
): Promise<DeviceRecord | undefined> {
  const record = await devices.read(table, { userCodeSha256 });
  return record?.userCodeSha256 === userCodeSha256 && record.expiresAtMs > nowMs ? record : undefined;
}

/** It keeps its slot until it ends: its code is no wrong one to its approver. */
async function approve(
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
