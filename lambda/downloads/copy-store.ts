import { putItem, type Table } from '../table/requests.ts';
import { expiring } from '../table/table.ts';

/**
 * Who copies which object: noted until its URLs expire, so that many who pull the same at once make one copy. On the
 * ledger's table, an item for each, which removes itself.
 */
export function createDynamoDbCopies(table: Table) {
  return {
    /** @returns false: it's being copied, or was tried a moment ago. @throws {LedgerUnavailableError} */
    async claim(input: { tenant: string; repo: string; oid: string; nowMs: number; untilMs: number }) {
      const { tenant, repo, oid, nowMs, untilMs } = input;
      const key = { pk: `COPY#${tenant}#${repo}`, sk: oid };
      const { ok } = await putItem(table, {
        item: { ...key, untilMs, ...expiring(untilMs) },
        condition: 'attribute_not_exists(#pk) OR #untilMs < :nowMs',
        values: { ':nowMs': nowMs },
      });
      return ok;
    },
  };
}

export type Copies = ReturnType<typeof createDynamoDbCopies>;
