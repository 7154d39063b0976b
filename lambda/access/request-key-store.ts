import * as z from 'zod';
import { absent, exists, setting } from '../table/expressions.ts';
import { getItem, methodsOn, putItem, type Table, updateItem } from '../table/requests.ts';
import { expiring } from '../table/table.ts';

const requestKeyItem = z.object({
  /** Identifies the key together with its purpose. */
  id: z.string(),
  /** SHA-256 of the request's body. The same key with another body is an error of the client. */
  bodySha256: z.string(),
  /** Random. Everything the request creates is derived from it, so that a repetition creates the same. */
  seed: z.string(),
  beganAtMs: z.number(),
  /** From then on the key may be used for another request. */
  expiresAtMs: z.number(),
  /** Whether the request has created what it is for. */
  isDone: z.boolean(),
});

export type RequestKeyRecord = Readonly<z.output<typeof requestKeyItem>>;

const requestKeyKey = (id: string) => ({ pk: `REQUEST#${id}`, sk: 'REQUEST' });

/**
 * Keys with which a client marks a request that it may repeat (HTTP: `Idempotency-Key`). On the ledger's table, one item
 * for each. The table's TTL removes them some time after they expire.
 */
export function createDynamoDbRequestKeys(table: Table) {
  return methodsOn(table, { begin, isKnown, finish });
}

export type RequestKeys = ReturnType<typeof createDynamoDbRequestKeys>;

/**
 * Stores the record, unless there is one with its id that has not expired.
 *
 * @returns the stored record: this one, or the earlier one.
 * @throws {LedgerUnavailableError}
 */
async function begin(table: Table, record: RequestKeyRecord): Promise<RequestKeyRecord> {
  const key = requestKeyKey(record.id);
  const { ok } = await putItem(table, {
    item: { ...key, ...record, ...expiring(record.expiresAtMs) },
    condition: `${absent} OR #expiresAtMs <= :now`,
    values: { ':now': record.beganAtMs },
  });
  if (ok) return record;
  // A retry of our own, after a lost answer, finds our own record.
  const known = await getItem(table, key);
  return known ? requestKeyItem.parse(known) : record;
}

/** Whether there is a record that has not expired by then. @throws {LedgerUnavailableError} */
async function isKnown(table: Table, { id, nowMs }: { id: string; nowMs: number }): Promise<boolean> {
  const known = await getItem(table, requestKeyKey(id));
  return known !== undefined && requestKeyItem.parse(known).expiresAtMs > nowMs;
}

/** Marks the request as done. @throws {LedgerUnavailableError} */
async function finish(table: Table, id: string): Promise<void> {
  await updateItem(table, {
    key: requestKeyKey(id),
    change: [setting({ isDone: true })],
    condition: exists,
  });
}
