import { exists } from '../../core/table/expressions.ts';
import { oldestFirst, recordsOf } from '../../core/table/records.ts';
import { getItem, inPartition, type Table } from '../../core/table/requests.ts';
import type { Voucher } from '../../frame/access/token-store.ts';
import { type ExchangeRule, ruleSchema } from './rules/identities.ts';

const partitionOf = (tenant: string) => `EXCHANGE#${tenant}`;

type RuleKey = Pick<ExchangeRule, 'tenant' | 'id'>;
const ruleKey = ({ tenant, id }: RuleKey) => ({ pk: partitionOf(tenant), sk: `RULE#${id}` });
const rules = recordsOf<RuleKey, ExchangeRule>({
  keyOf: ruleKey,
  schema: ruleSchema,
  fields: ({ repos, ...rest }) => ({ ...rest, ...(repos && { repos }) }),
});

/**
 * The rules of tenants by which identities get tokens. On the ledger's table, in a partition of their own: the counter's is
 * for what is counted.
 */
export function createDynamoDbExchangeRules(table: Table) {
  return {
    /** All of a tenant, the oldest first. Strongly consistent, so that a deleted rule lets nobody in. */
    list: async (tenant: string) =>
      oldestFirst(await rules.list(table, inPartition(partitionOf(tenant))), ({ id }) => id),
    /** An attempt that is repeated finds its own rule: ids are random. */
    put: (rule: ExchangeRule) => rules.put(table, rule),
    delete: async (rule: RuleKey) =>
      (await rules.remove(table, rule, { condition: exists })) ? 'deleted' : 'absent',
  };
}

export type ExchangeRules = ReturnType<typeof createDynamoDbExchangeRules>;

/** Whether the rule that a token was given by is still there. Otherwise its token is worth nothing. */
export const ruleVouches: Voucher = async (table, { tenant, ruleId, hostUser }) =>
  ruleId !== undefined &&
  hostUser === undefined &&
  (await getItem(table, ruleKey({ tenant, id: ruleId }))) !== undefined;
