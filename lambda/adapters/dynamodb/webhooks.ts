import * as z from 'zod';
import { type Webhook, webhookFailures } from '../../domain/webhook.ts';
import type { Webhooks } from '../../ports/webhooks.ts';
import { all, exists, setting } from './expressions.ts';
import { deleteItem, getItem, type Table, updateItem } from './requests.ts';

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
      const key = webhookKey(tenant);
      const { ok } = await updateItem(table, {
        key,
        change: [setting({ testedAtMs: atMs })],
        condition: all(exists, '(attribute_not_exists(#testedAtMs) OR #testedAtMs <= :before)'),
        values: { ':before': atMs - restMs },
      });
      if (ok) return 'noted';
      return (await getItem(table, key)) ? 'too-soon' : 'absent';
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
