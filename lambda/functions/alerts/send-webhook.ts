import { deployedConsumer } from '../../frame/aws/sqs-consumer.ts';
import { common, redelivery, table } from '../../parts.ts';
import { create } from '../../subjects/alerts/webhook-handler.ts';
import { createWebhookSender } from '../../subjects/alerts/webhook-sender.ts';
import { createDynamoDbWebhooks } from '../../subjects/alerts/webhook-store.ts';

export function webhookDeps() {
  return {
    ...common(),
    webhooks: createDynamoDbWebhooks(table()),
    webhookSender: createWebhookSender(),
    redelivery: redelivery('LFS_QUOTA_WEBHOOK_QUEUE_URL'),
  };
}

export const handler = await deployedConsumer(create, webhookDeps);
