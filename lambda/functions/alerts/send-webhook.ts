import { deployedConsumer } from '../../frame/aws/jobs.ts';
import * as stores from '../../lists/stores.ts';
import { common, redelivery, table } from '../../parts.ts';
import { create } from '../../subjects/alerts/webhook-handler.ts';
import { createWebhookSender } from '../../subjects/alerts/webhook-sender.ts';

export function webhookDeps() {
  return {
    ...common(),
    webhooks: stores.webhooks(table()),
    webhookSender: createWebhookSender(),
    redelivery: redelivery('LFS_QUOTA_WEBHOOK_QUEUE_URL'),
  };
}

export const handler = await deployedConsumer(create, webhookDeps);
