import * as z from 'zod';
import { exists } from '../../core/table/expressions.ts';
import { absentOrOver, recordsOf } from '../../core/table/records.ts';
import type { Table } from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';

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
  /** What it was answered, as its subject keeps it. */
  answer: z.string().optional(),
});

export type RequestKeyRecord = Readonly<z.output<typeof requestKeyItem>>;

const keyFields = (record: RequestKeyRecord) => ({ ...record, ...expiring(record.expiresAtMs) });
const requestKeys = recordsOf<Pick<RequestKeyRecord, 'id'>, RequestKeyRecord>({
  keyOf: ({ id }) => ({ pk: `REQUEST#${id}`, sk: 'REQUEST' }),
  schema: requestKeyItem,
  fields: keyFields,
});

/**
 * Keys with which a client marks a request that it may repeat (HTTP: `Idempotency-Key`). On the ledger's table, one item
 * for each. The table's TTL removes them some time after they expire.
 */
export function createDynamoDbRequestKeys(table: Table) {
  return {
    /** Stores the record, unless there is one with its id that has not expired. @returns what is stored then. */
    async begin(record: RequestKeyRecord): Promise<RequestKeyRecord> {
      const isOver = { condition: absentOrOver, values: { ':now': record.beganAtMs } };
      if (await requestKeys.put(table, record, isOver)) return record;
      // A retry of our own, after a lost answer, finds our own record.
      return (await requestKeys.read(table, record)) ?? record;
    },
    /** Whether there is a record that has not expired by then. */
    async isKnown({ id, nowMs }: { id: string; nowMs: number }): Promise<boolean> {
      return ((await requestKeys.read(table, { id }))?.expiresAtMs ?? 0) > nowMs;
    },
    /** Keeps what a request is answered, unless one with its key was answered before. @returns what is kept. */
    async keepAnswer({ id, answer }: { id: string; answer: string }): Promise<string | undefined> {
      const condition = `${exists} AND attribute_not_exists(#answer)`;
      if (await requestKeys.set(table, { id }, { isDone: true, answer }, { condition })) return answer;
      return (await requestKeys.read(table, { id }))?.answer;
    },
    /** Marks the request as done. */
    finish: (id: string) => requestKeys.set(table, { id }, { isDone: true }, { condition: exists }),
  };
}

export type RequestKeys = ReturnType<typeof createDynamoDbRequestKeys>;
