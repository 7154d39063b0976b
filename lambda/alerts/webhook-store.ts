import * as z from 'zod';
import { all, exists, setting } from '../table/expressions.ts';
import { deleteItem, getItem, type Table, updateItem } from '../table/requests.ts';
import { expiring } from '../table/table.ts';
import { type Webhook, type WebhookAttempt, webhookFailures } from './rules/webhook-delivery.ts';

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

/**
 * One webhook for each tenant. On the ledger's table, which is encrypted. A partition of their own: the sender reaches
 * nothing else.
 */
export function createDynamoDbWebhooks(table: Table) {
  return {
    /** Strongly consistent. @throws {LedgerUnavailableError} */
    async read(tenant: string): Promise<Webhook | undefined> {
      const item = await getItem(table, webhookKey(tenant));
      return item && webhookItem.parse(item);
    },
    /** Replaces what there is. @throws {LedgerUnavailableError} */
    async put({ tenant, webhook }: { tenant: string; webhook: Webhook }): Promise<void> {
      await updateItem(table, { key: webhookKey(tenant), change: [setting({ ...webhook })] });
    },
    /** @throws {LedgerUnavailableError} */
    async remove(tenant: string): Promise<'removed' | 'absent'> {
      const { ok } = await deleteItem(table, { key: webhookKey(tenant), condition: exists });
      return ok ? 'removed' : 'absent';
    },
    /** Notes that a test is asked for, unless one was within `restMs`. @throws {LedgerUnavailableError} */
    async noteTest(input: {
      tenant: string;
      atMs: number;
      restMs: number;
    }): Promise<'noted' | 'too-soon' | 'absent'> {
      const { tenant, atMs, restMs } = input;
      if (!(await getItem(table, webhookKey(tenant)))) return 'absent';
      const { ok } = await updateItem(table, {
        key: testKey(tenant),
        change: [setting({ testedAtMs: atMs, ...expiring(atMs + restMs) })],
        condition: 'attribute_not_exists(#testedAtMs) OR #testedAtMs <= :before',
        values: { ':before': atMs - restMs },
      });
      return ok ? 'noted' : 'too-soon';
    },
    /**
     * Notes the last attempt, if the webhook is still the one of this URL and no later attempt was noted.
     *
     * @throws {LedgerUnavailableError}
     */
    async noteAttempt(input: { tenant: string; url: string; attempt: WebhookAttempt }): Promise<void> {
      const { tenant, url, attempt } = input;
      await updateItem(table, {
        key: webhookKey(tenant),
        change: [setting({ last: { ...attempt }, lastAtMs: attempt.atMs })],
        condition: all(exists, '#url = :url', '(attribute_not_exists(#lastAtMs) OR #lastAtMs <= :lastAtMs)'),
        values: { ':url': url },
      });
    },
  };
}

export type Webhooks = ReturnType<typeof createDynamoDbWebhooks>;
