import * as z from 'zod';
import { changeItem, getItem, methodsOn, type Table } from '../table/requests.ts';
import { type Failure, failureReasons, withFailureNoted } from './rules/failures.ts';

const failuresKey = { pk: 'FAILURES', sk: 'FAILURES' } as const;

const failuresItem = z.object({
  failures: z
    .array(
      z.object({
        kind: z.enum(['reconcile', 'export']),
        tenant: z.string(),
        exportId: z.string().optional(),
        atMs: z.number(),
        sinceMs: z.number(),
        tries: z.number(),
        // One that a later version knows.
        why: z.enum(failureReasons).catch('unexpected'),
        appliedEpoch: z.number().optional(),
      }),
    )
    .default([]),
});

/**
 * What failed last, of all tenants: a few, for the operator. Nothing is decided by it. On the ledger's table: one item for
 * all tenants, written when something fails.
 */
export function createDynamoDbFailures(table: Table) {
  return methodsOn(table, { note, list });
}

export type Failures = ReturnType<typeof createDynamoDbFailures>;

/** Notes one beside those that are kept, as {@link withFailureNoted} says. @throws {LedgerUnavailableError} */
async function note(table: Table, failure: Failure): Promise<void> {
  await changeItem(table, failuresKey, (item) => ({ failures: withFailureNoted(failuresIn(item), failure) }));
}

/** The newest first. @throws {LedgerUnavailableError} */
async function list(table: Table): Promise<readonly Failure[]> {
  return failuresIn(await getItem(table, failuresKey));
}

const failuresIn = (item: unknown) => failuresItem.parse(item ?? {}).failures;
