import * as z from 'zod';
import { absent, exists, setting } from '../../table/expressions.ts';
import { getItem, methodsOn, putItem, type Table, updateItem } from '../../table/requests.ts';
import { expiryAttribute } from '../../table/table.ts';

const requestKeyItem = z.object({
  id: z.string(),
  bodySha256: z.string(),
  seed: z.string(),
  beganAtMs: z.number(),
  expiresAtMs: z.number(),
  isDone: z.boolean(),
});

const requestKeyKey = (id: string) => ({ pk: `REQUEST#${id}`, sk: 'REQUEST' });

export interface RequestKeyRecord {
  /** Identifies the key together with its purpose. */
  readonly id: string;
  /** SHA-256 of the request's body. The same key with another body is an error of the client. */
  readonly bodySha256: string;
  /** Random. Everything the request creates is derived from it, so that a repetition creates the same. */
  readonly seed: string;
  readonly beganAtMs: number;
  /** From then on the key may be used for another request. */
  readonly expiresAtMs: number;
  /** Whether the request has created what it is for. */
  readonly isDone: boolean;
}

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
    item: { ...key, ...record, [expiryAttribute]: Math.ceil(record.expiresAtMs / 1000) },
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
