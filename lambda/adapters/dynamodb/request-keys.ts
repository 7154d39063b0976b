import * as z from 'zod';
import type { RequestKeyRecord, RequestKeys } from '../../ports/request-keys.ts';
import { absent, exists, setting } from './expressions.ts';
import { getItem, putItem, type Table, updateItem } from './requests.ts';
import { expiryAttribute } from './table.ts';

const requestKeyItem = z.object({
  id: z.string(),
  bodySha256: z.string(),
  seed: z.string(),
  beganAtMs: z.number(),
  expiresAtMs: z.number(),
  isDone: z.boolean(),
});

const requestKeyKey = (id: string) => ({ pk: `REQUEST#${id}`, sk: 'REQUEST' });

/** Request keys on the ledger's table, one item for each. The table's TTL removes them some time after they expire. */
export function createDynamoDbRequestKeys(table: Table): RequestKeys {
  return {
    begin: (record) => begin(table, record),
    isKnown: async ({ id, nowMs }) => {
      const known = await getItem(table, requestKeyKey(id));
      return known !== undefined && requestKeyItem.parse(known).expiresAtMs > nowMs;
    },
    finish: (id) => finish(table, id),
  };
}

async function begin(table: Table, record: RequestKeyRecord): Promise<RequestKeyRecord> {
  const key = requestKeyKey(record.id);
  const { ok } = await putItem(table, {
    item: { ...key, ...record, [expiryAttribute]: Math.ceil(record.expiresAtMs / 1000) },
    condition: `${absent} OR #expiresAtMs <= :now`,
    values: { ':now': record.beganAtMs },
  });
  if (ok) return record;
  // A retry of our own, after a lost answer, finds our own record.
  const known = await getItem(table, key);
  return known ? requestKeyItem.parse(known) : record;
}

async function finish(table: Table, id: string): Promise<void> {
  await updateItem(table, {
    key: requestKeyKey(id),
    change: [setting({ isDone: true })],
    condition: exists,
  });
}
