import * as z from 'zod';
import { getItem, methodsOn, putItem, type Table, untilWritten } from '../table/requests.ts';
import { type Failure, failureReasons, withFailureNoted } from './rules/status.ts';

const failuresKey = { pk: 'FAILURES', sk: 'FAILURES' } as const;

const failuresItem = z.object({
  version: z.number().default(0),
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
function note(table: Table, failure: Failure): Promise<void> {
  return untilWritten(table, async () => {
    const { version, failures } = await read(table);
    const { ok } = await putItem(table, {
      item: { ...failuresKey, version: version + 1, failures: withFailureNoted(failures, failure) },
      condition: version === 0 ? 'attribute_not_exists(#version)' : '#version = :version',
      ...(version > 0 && { values: { ':version': version } }),
    });
    return ok ? { result: undefined } : undefined;
  });
}

/** The newest first. @throws {LedgerUnavailableError} */
async function list(table: Table): Promise<readonly Failure[]> {
  return (await read(table)).failures;
}

async function read(table: Table) {
  return failuresItem.parse((await getItem(table, failuresKey)) ?? {});
}
