import * as z from 'zod';
import { absent, exists } from '../table/expressions.ts';
import { firstItems, inPartition, methodsOn, putItem, type Table } from '../table/requests.ts';
import { expiring } from '../table/table.ts';
import { type AuditEntry, auditActions, auditIdOf, auditKeptMs } from './rules/audit.ts';

const fields = z.record(z.string(), z.json());

export const entryItem = z.object({
  tenant: z.string(),
  atMs: z.number(),
  requestId: z.string(),
  by: z.object({
    kind: z.enum(['operator', 'token', 'identity']),
    tokenId: z.string().nullable(),
    name: z.string().nullable(),
  }),
  action: z.enum(auditActions),
  target: fields,
  asked: fields.nullable(),
  outcome: z.enum(['started', 'succeeded', 'denied', 'failed']),
  reason: z.string().nullable(),
  before: fields.nullable(),
  after: fields.nullable(),
});

const partitionOf = (tenant: string) => `AUDIT#${tenant}`;

/**
 * Who did what to a tenant. An entry is written twice: before its action as begun, and after it with what came of it. On
 * the ledger's table, an item for each entry, by time.
 */
export function createDynamoDbAuditLog(table: Table) {
  return methodsOn(table, { begin, finish, list });
}

export type AuditLog = ReturnType<typeof createDynamoDbAuditLog>;

/** Writes an entry before its action. One that is there already stays. @throws {LedgerUnavailableError} */
function begin(table: Table, entry: AuditEntry): Promise<void> {
  // A write of the beginning that lands late must not replace the end.
  return put(table, entry, absent);
}

/** Replaces an entry that was begun. @throws {LedgerUnavailableError} */
function finish(table: Table, entry: AuditEntry): Promise<void> {
  return put(table, entry, exists);
}

async function put(table: Table, entry: AuditEntry, condition: string): Promise<void> {
  await putItem(table, {
    item: {
      pk: partitionOf(entry.tenant),
      sk: auditIdOf(entry),
      ...entry,
      ...expiring(entry.atMs + auditKeptMs),
    },
    condition,
  });
}

/**
 * A page of a tenant's entries, the newest first. Strongly consistent.
 *
 * @param input.fromMs the first moment, and `untilMs` the one after the last.
 * @param input.before `next` of the page before.
 * @throws {LedgerUnavailableError}
 */
async function list(
  table: Table,
  input: { tenant: string; fromMs: number; untilMs: number; pageSize: number; before?: string },
): Promise<{ readonly entries: readonly AuditEntry[]; readonly next: string | null }> {
  const { tenant, fromMs, untilMs, pageSize, before } = input;
  const [from, until] = [fromMs, untilMs].map((timeMs) => new Date(timeMs).toISOString()) as [string, string];
  const last = before !== undefined && before < until ? before : until;
  if (from > last) return { entries: [], next: null };
  const items = await firstItems(table, {
    ...inPartition(partitionOf(tenant), { from, to: last }),
    ScanIndexForward: false,
    // The one that the page begins after, and one more, to know whether another page follows.
    Limit: pageSize + 2,
  });
  const entries = items.map((item) => entryItem.parse(item)).filter((entry) => auditIdOf(entry) !== before);
  const page = entries.slice(0, pageSize);
  const end = entries.length > pageSize ? page.at(-1) : undefined;
  return { entries: page, next: end ? auditIdOf(end) : null };
}
