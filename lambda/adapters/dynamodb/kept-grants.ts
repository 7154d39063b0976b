import * as z from 'zod';
import type { PersonGrant } from '../../domain/person.ts';
import { getItem, putItem, type Table } from '../../table/requests.ts';
import { expiryAttribute } from '../../table/table.ts';

const grantItem = z.object({
  personId: z.string(),
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
    async find(key: string): Promise<{ readonly grant: PersonGrant; readonly untilMs: number } | undefined> {
      const item = await getItem(table, grantKey(key));
      if (!item) return undefined;
      const { personId, login, access, untilMs } = grantItem.parse(item);
      return { grant: { person: { id: personId, login }, access }, untilMs };
    },
    /** Unless one is known that holds longer. @throws {LedgerUnavailableError} */
    async keep(input: { key: string; grant: PersonGrant; untilMs: number }): Promise<void> {
      const { key, grant, untilMs } = input;
      const { person, access } = grant;
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

export type KeptGrants = ReturnType<typeof createDynamoDbKeptGrants>;
