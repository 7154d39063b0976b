import * as z from 'zod';
import type { Voucher } from '../access/token-store.ts';
import { absent, exists } from '../table/expressions.ts';
import {
  allItems,
  deleteItem,
  getItem,
  inPartition,
  methodsOn,
  putItem,
  type Table,
} from '../table/requests.ts';
import type { ExchangeRule } from './rules/identities.ts';

const ruleItem = z.object({
  id: z.string(),
  tenant: z.string(),
  issuer: z.string(),
  match: z.record(z.string(), z.array(z.string())),
  scope: z.enum(['read', 'write']),
  repos: z
    .array(z.string())
    .nullish()
    .transform((repos) => repos ?? null),
  lifetimeMs: z.number(),
  createdAtMs: z.number(),
});

const partitionOf = (tenant: string) => `EXCHANGE#${tenant}`;

const ruleKey = ({ tenant, id }: { tenant: string; id: string }) => ({
  pk: partitionOf(tenant),
  sk: `RULE#${id}`,
});

/**
 * The rules of tenants by which identities get tokens. On the ledger's table, in a partition of their own: the counter's is
 * for what is counted.
 */
export function createDynamoDbExchangeRules(table: Table) {
  return methodsOn(table, { list: listRules, put: putRule, delete: remove });
}

export type ExchangeRules = ReturnType<typeof createDynamoDbExchangeRules>;

/** All of a tenant, the oldest first. Strongly consistent, so that a deleted rule lets nobody in. */
async function listRules(table: Table, tenant: string): Promise<readonly ExchangeRule[]> {
  const items = await allItems(table, inPartition(partitionOf(tenant)));
  const rules = items.map((item) => ruleItem.parse(item));
  return rules.sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
}

/** Whether the rule that a token was given by is still there. Otherwise its token is worth nothing. */
export const ruleVouches: Voucher = async (table, { tenant, ruleId }) =>
  ruleId !== undefined && (await getItem(table, ruleKey({ tenant, id: ruleId }))) !== undefined;

async function putRule(table: Table, rule: ExchangeRule): Promise<void> {
  const { repos, ...rest } = rule;
  // An attempt that is repeated finds its own rule: ids are random.
  await putItem(table, { item: { ...ruleKey(rule), ...rest, ...(repos && { repos }) }, condition: absent });
}

async function remove(table: Table, rule: { tenant: string; id: string }): Promise<'deleted' | 'absent'> {
  const { ok } = await deleteItem(table, { key: ruleKey(rule), condition: exists });
  return ok ? 'deleted' : 'absent';
}
