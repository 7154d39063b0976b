import type { SwitchedQueue } from '../../../../lambda/core/rules/jobs.ts';
import { createDynamoDbAlerts } from '../../../../lambda/subjects/alerts/alert-store.ts';
import type { WebhookMessage } from '../../../../lambda/subjects/alerts/rules/webhook-delivery.ts';
import { createDynamoDbWebhooks } from '../../../../lambda/subjects/alerts/webhook-store.ts';
import { storeClass } from '../../memory/stores.ts';

export class MemoryAlerts extends storeClass(createDynamoDbAlerts) {}
export class MemoryWebhooks extends storeClass(createDynamoDbWebhooks) {}

/** A queue that delivers nothing, and the messages that it got. */
export function recordingWebhookQueue() {
  const messages: WebhookMessage[] = [];
  const queue: SwitchedQueue<WebhookMessage> = {
    isOn: true,
    send: async (sent) => void messages.push(...sent),
  };
  return { queue, messages };
}
