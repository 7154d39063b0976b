import * as z from 'zod';
import { failureReasons, withFailureNoted } from '../../domain/failure.ts';
import type { Failures } from '../../ports/failures.ts';
import { getItem, putItem, type Table } from './requests.ts';
import { untilWritten } from './until-written.ts';

const failuresKey = { pk: 'FAILURES', sk: 'FAILURES' } as const;

const failuresItem = z.object({
  version: z.number().default(0),
  failures: z
    .array(
      z.object({
        kind: z.enum(['recount', 'export']),
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

/** What failed last, on the ledger's table: one item for all tenants, written when something fails. */
export function createDynamoDbFailures(table: Table): Failures {
  const read = async () => failuresItem.parse((await getItem(table, failuresKey)) ?? {});
  return {
    list: async () => (await read()).failures,
    note: (failure) =>
      untilWritten(table, async () => {
        const { version, failures } = await read();
        const { ok } = await putItem(table, {
          item: { ...failuresKey, version: version + 1, failures: withFailureNoted(failures, failure) },
          condition: version === 0 ? 'attribute_not_exists(#version)' : '#version = :version',
          ...(version > 0 && { values: { ':version': version } }),
        });
        return ok ? { result: undefined } : undefined;
      }),
  };
}
