import * as z from 'zod';
import { getItem, putItem, type Table } from '../table/requests.ts';
import { expiring } from '../table/table.ts';
import type { HostGrant } from './rules/host-client.ts';

const grantItem = z.object({
  hostUserId: z.string(),
  login: z.string(),
  access: z.enum(['read', 'write']),
  untilMs: z.number(),
});

const grantKey = (key: string) => ({ pk: `GRANT#${key}`, sk: 'GRANT' });

/**
 * What hosts have said, for some minutes, so that not every function has to ask. On the ledger's table: an item for each
 * token and repo, which removes itself.
 */
export function createDynamoDbKeptGrants(table: Table) {
  return {
    /** @throws {LedgerUnavailableError} */
    async find(key: string): Promise<{ readonly grant: HostGrant; readonly untilMs: number } | undefined> {
      const item = await getItem(table, grantKey(key));
      if (!item) return undefined;
      const { hostUserId, login, access, untilMs } = grantItem.parse(item);
      return { grant: { hostUser: { id: hostUserId, login }, access }, untilMs };
    },
    /** Unless one is known that holds longer. @throws {LedgerUnavailableError} */
    async keep(input: { key: string; grant: HostGrant; untilMs: number }): Promise<void> {
      const { key, grant, untilMs } = input;
      const { hostUser, access } = grant;
      await putItem(table, {
        item: {
          ...grantKey(key),
          hostUserId: hostUser.id,
          login: hostUser.login,
          access,
          untilMs,
          ...expiring(untilMs),
        },
        condition: 'attribute_not_exists(#pk) OR #untilMs < :untilMs',
        values: { ':untilMs': untilMs },
      });
    },
  };
}

export type KeptGrants = ReturnType<typeof createDynamoDbKeptGrants>;
