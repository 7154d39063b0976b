import * as z from 'zod';
import type { KeptGrants } from '../../ports/git-hosts.ts';
import { getItem, putItem, type Table } from './requests.ts';
import { expiryAttribute } from './table.ts';

const grantItem = z.object({
  personId: z.string(),
  login: z.string(),
  access: z.enum(['read', 'write']),
  untilMs: z.number(),
});

const grantKey = (key: string) => ({ pk: `GRANT#${key}`, sk: 'GRANT' });

/** What hosts have said, on the ledger's table. An item for each token and repo, which removes itself. */
export function createDynamoDbKeptGrants(table: Table): KeptGrants {
  return {
    find: async (key) => {
      const item = await getItem(table, grantKey(key));
      if (!item) return undefined;
      const { personId, login, access, untilMs } = grantItem.parse(item);
      return { grant: { person: { id: personId, login }, access }, untilMs };
    },
    keep: async ({ key, grant: { person, access }, untilMs }) => {
      await putItem(table, {
        item: {
          ...grantKey(key),
          personId: person.id,
          login: person.login,
          access,
          untilMs,
          [expiryAttribute]: Math.ceil(untilMs / 1000),
        },
        condition: 'attribute_not_exists(#pk) OR #untilMs < :untilMs',
        values: { ':untilMs': untilMs },
      });
    },
  };
}
