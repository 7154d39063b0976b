import { all, exists, setting } from '../../core/table/expressions.ts';
import { recordsOf } from '../../core/table/records.ts';
import { getItem, type Table, updateItem } from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';
import { type Webhook, type WebhookAttempt, webhookSchema } from './rules/webhook-delivery.ts';

const webhooks = recordsOf<string, Webhook>({
  keyOf: (tenant) => ({ pk: `WEBHOOK#${tenant}`, sk: 'WEBHOOK' }),
  schema: webhookSchema,
});

/** Of the tenant, not of its webhook: whoever replaces that doesn't send more tests. */
const testKey = (tenant: string) => ({ ...webhooks.keyOf(tenant), sk: 'TEST' });

/**
 * One webhook for each tenant. On the ledger's table, which is encrypted. A partition of their own: the sender reaches
 * nothing else.
 */
export function createDynamoDbWebhooks(table: Table) {
  return {
    read: (tenant: string) => webhooks.read(table, tenant),
    /** Replaces what there is. */
    put: ({ tenant, webhook }: { tenant: string; webhook: Webhook }) =>
      webhooks.set(table, tenant, { ...webhook }),
    remove: async (tenant: string) =>
      (await webhooks.remove(table, tenant, { condition: exists })) ? 'removed' : 'absent',
    /** Notes that a test is asked for, unless one was within `restMs`. */
    async noteTest(input: {
      tenant: string;
      atMs: number;
      restMs: number;
    }): Promise<'noted' | 'too-soon' | 'absent'> {
      const { tenant, atMs, restMs } = input;
      if (!(await getItem(table, webhooks.keyOf(tenant)))) return 'absent';
      const { ok } = await updateItem(table, {
        key: testKey(tenant),
        change: [setting({ testedAtMs: atMs, ...expiring(atMs + restMs) })],
        condition: 'attribute_not_exists(#testedAtMs) OR #testedAtMs <= :before',
        values: { ':before': atMs - restMs },
      });
      return ok ? 'noted' : 'too-soon';
    },
    /** Notes the last attempt, if the webhook is still the one of this URL and no later attempt was noted. */
    async noteAttempt(input: { tenant: string; url: string; attempt: WebhookAttempt }): Promise<void> {
      const { tenant, url, attempt } = input;
      const isLast = '(attribute_not_exists(#lastAtMs) OR #lastAtMs <= :lastAtMs)';
      await webhooks.set(
        table,
        tenant,
        { last: { ...attempt }, lastAtMs: attempt.atMs },
        { condition: all(exists, '#url = :url', isLast), values: { ':url': url } },
      );
    },
  };
}

export type Webhooks = ReturnType<typeof createDynamoDbWebhooks>;
