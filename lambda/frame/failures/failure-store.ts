import { recordsOf } from '../../core/table/records.ts';
import type { Table } from '../../core/table/requests.ts';
import { type Failure, failuresSchema, withFailureNoted } from './rules/failures.ts';

const records = recordsOf<object, { failures: readonly Failure[] }>({
  keyOf: () => ({ pk: 'FAILURES', sk: 'FAILURES' }),
  schema: failuresSchema,
});

/**
 * What failed last, of all tenants: a few, for the operator. Nothing is decided by it. On the ledger's table: one item for
 * all tenants, written when something fails.
 */
export function createDynamoDbFailures(table: Table) {
  return {
    /** Notes one beside those that are kept, as {@link withFailureNoted} says. */
    async note(failure: Failure): Promise<void> {
      await records.change(table, {}, (before) => ({
        failures: withFailureNoted(before?.failures ?? [], failure),
      }));
    },
    /** The newest first. */
    list: async () => (await records.read(table, {}))?.failures ?? [],
  };
}

export type Failures = ReturnType<typeof createDynamoDbFailures>;
