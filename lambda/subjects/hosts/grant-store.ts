import * as z from 'zod';
import { absent } from '../../core/table/expressions.ts';
import { recordsOf } from '../../core/table/records.ts';
import { putItem, type Table } from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';
import type { HostGrant } from './rules/host-client.ts';

const grants = recordsOf({
  keyOf: (key: string) => ({ pk: `GRANT#${key}`, sk: 'GRANT' }),
  schema: z
    .object({
      hostUserId: z.string(),
      login: z.string(),
      access: z.enum(['read', 'write']),
      untilMs: z.number(),
    })
    .transform(({ hostUserId: id, login, access, untilMs }): { grant: HostGrant; untilMs: number } => ({
      grant: { hostUser: { id, login }, access },
      untilMs,
    })),
});

/**
 * What hosts have said, for some minutes, so that not every function has to ask. On the ledger's table: an item for each
 * token and repo, which removes itself.
 */
export function createDynamoDbKeptGrants(table: Table) {
  return {
    find: (key: string) => grants.read(table, key),
    /** Unless one is known that holds longer. @throws {LedgerUnavailableError} */
    async keep(input: { key: string; grant: HostGrant; untilMs: number }): Promise<void> {
      const { key, grant, untilMs } = input;
      const { id: hostUserId, login } = grant.hostUser;
      const item = { ...grants.keyOf(key), hostUserId, login, access: grant.access, untilMs };
      await putItem(table, {
        item: { ...item, ...expiring(untilMs) },
        condition: `${absent} OR #untilMs < :untilMs`,
        values: { ':untilMs': untilMs },
      });
    },
  };
}

export type KeptGrants = ReturnType<typeof createDynamoDbKeptGrants>;
