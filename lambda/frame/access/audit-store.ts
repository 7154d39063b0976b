import { exists } from '../../core/table/expressions.ts';
import { pageOf, recordsOf } from '../../core/table/records.ts';
import { inPartition, type Table } from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';
import { type AuditEntry, auditIdOf, auditKeptMs, auditSchema } from './rules/audit.ts';

const partitionOf = (tenant: string) => `AUDIT#${tenant}`;

const entries = recordsOf<Pick<AuditEntry, 'tenant' | 'atMs' | 'requestId'>, AuditEntry>({
  keyOf: (entry) => ({ pk: partitionOf(entry.tenant), sk: auditIdOf(entry) }),
  schema: auditSchema,
  fields: (entry) => ({ ...entry, ...expiring(entry.atMs + auditKeptMs) }),
});

/**
 * Who did what to a tenant. An entry is written twice: before its action as begun, and after it with what came of it. On
 * the ledger's table, an item for each entry, by time.
 */
export function createDynamoDbAuditLog(table: Table) {
  return {
    /** Writes an entry before its action. One that lands late must not replace the end. */
    async begin(entry: AuditEntry): Promise<void> {
      await entries.put(table, entry);
    },
    /** Replaces an entry that was begun. */
    async finish(entry: AuditEntry): Promise<void> {
      await entries.put(table, entry, { condition: exists });
    },
    /**
     * A page of a tenant's entries, the newest first.
     *
     * @param input.fromMs the first moment, and `untilMs` the one after the last.
     * @param input.before `next` of the page before.
     */
    async list(input: {
      tenant: string;
      fromMs: number;
      untilMs: number;
      pageSize: number;
      before?: string;
    }): Promise<{ readonly entries: readonly AuditEntry[]; readonly next: string | null }> {
      const { tenant, fromMs, untilMs, pageSize, before } = input;
      const [from, until] = [new Date(fromMs).toISOString(), new Date(untilMs).toISOString()];
      const to = before !== undefined && before < until ? before : until;
      if (from > to) return { entries: [], next: null };
      const found = await entries.first(table, {
        ...inPartition(partitionOf(tenant), { from, to }),
        ScanIndexForward: false,
        // The one that the page begins after, and one more, to know whether another page follows.
        Limit: pageSize + 2,
      });
      const after = found.filter((entry) => auditIdOf(entry) !== before);
      const { page, last } = pageOf(after, pageSize);
      return { entries: page, next: last ? auditIdOf(last) : null };
    },
  };
}

export type AuditLog = ReturnType<typeof createDynamoDbAuditLog>;
