import { causeOf } from '../../domain/invocation.ts';
import type { Invocations } from '../../ports/invocations.ts';
import type { WebhookMessage, WebhookQueue } from '../../ports/webhooks.ts';
import { type Queue, sendBatch, sendBatchMax } from './send-batch.ts';

/** The queue of what is to be sent to webhooks, on a standard queue of SQS. */
export function createSqsWebhookQueue(input: Queue & { invocations: Invocations }): WebhookQueue {
  const { invocations, ...queue } = input;
  const messageOf = (message: WebhookMessage) => ({
    MessageBody: JSON.stringify({ ...message, correlationId: causeOf(invocations.current()) }),
  });
  return {
    async send(messages) {
      for (let begin = 0; begin < messages.length; begin += sendBatchMax)
        await sendBatch(queue, messages.slice(begin, begin + sendBatchMax).map(messageOf));
    },
  };
}
