import * as z from 'zod';
import { type Webhook, webhookFailures } from '../../domain/webhook.ts';
import type { Webhooks } from '../../ports/webhooks.ts';
import { all, exists, setting } from './expressions.ts';
import { deleteItem, getItem, type Table, updateItem } from './requests.ts';
import { expiryAttribute } from './table.ts';

const webhookItem = z.object({
  url: z.string(),
  secret: z.string(),
  previousSecret: z.string().nullable(),
  createdAtMs: z.number(),
  secretChangedAtMs: z.number(),
  last: z
    .object({
      eventId: z.string(),
      type: z.string(),
      atMs: z.number(),
      attempt: z.number(),
      status: z.number().nullable(),
      failure: z.enum(webhookFailures).nullable(),
      nextAtMs: z.number().nullable(),
    })
    .nullable(),
});

const webhookKey = (tenant: string) => ({ pk: `WEBHOOK#${tenant}`, sk: 'WEBHOOK' });

/** Of the tenant, not of its webhook: whoever replaces that doesn't send more tests. */
const testKey = (tenant: string) => ({ ...webhookKey(tenant), sk: 'TEST' });

/** Webhooks on the ledger's table, which is encrypted. A partition of their own: the sender reaches nothing else. */
export function createDynamoDbWebhooks(table: Table): Webhooks {
  return {
    read: async (tenant): Promise<Webhook | undefined> => {
      const item = await getItem(table, webhookKey(tenant));
      return item && webhookItem.parse(item);
    },
    put: async ({ tenant, webhook }) => {
      await updateItem(table, { key: webhookKey(tenant), change: [setting({ ...webhook })] });
    },
    remove: async (tenant) => {
      const { ok } = await deleteItem(table, { key: webhookKey(tenant), condition: exists });
      return ok ? 'removed' : 'absent';
    },
    noteTest: async ({ tenant, atMs, restMs }) => {
      if (!(await getItem(table, webhookKey(tenant)))) return 'absent';
      const { ok } = await updateItem(table, {
        key: testKey(tenant),
        change: [setting({ testedAtMs: atMs, [expiryAttribute]: Math.ceil((atMs + restMs) / 1000) })],
        condition: 'attribute_not_exists(#testedAtMs) OR #testedAtMs <= :before',
        values: { ':before': atMs - restMs },
      });
      return ok ? 'noted' : 'too-soon';
    },
    noteAttempt: async ({ tenant, url, attempt }) => {
      await updateItem(table, {
        key: webhookKey(tenant),
        change: [setting({ last: { ...attempt }, lastAtMs: attempt.atMs })],
        condition: all(exists, '#url = :url', '(attribute_not_exists(#lastAtMs) OR #lastAtMs <= :lastAtMs)'),
        values: { ':url': url },
      });
    },
  };
}
