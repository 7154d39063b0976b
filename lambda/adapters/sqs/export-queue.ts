import { causeOf } from '../../domain/invocation.ts';
import type { ExportMessage, ExportQueue } from '../../ports/export-queue.ts';
import type { Invocations } from '../../ports/invocations.ts';
import { type Queue, sendBatch, sendBatchMax } from './send-batch.ts';

/** The queue of steps on a standard queue of SQS: steps may run at the same time, and come in any order. */
export function createSqsExportQueue(input: Queue & { invocations: Invocations }): ExportQueue {
  const { invocations, ...queue } = input;
  const messageOf = (message: ExportMessage) => ({
    MessageBody: JSON.stringify({ ...message, correlationId: causeOf(invocations.current()) }),
  });
  return {
    async send(messages) {
      const sent: Promise<void>[] = [];
      // All at once: an export has 400 units at most, so these are 40 requests.
      for (let begin = 0; begin < messages.length; begin += sendBatchMax)
        sent.push(sendBatch(queue, messages.slice(begin, begin + sendBatchMax).map(messageOf)));
      await Promise.all(sent);
    },
  };
}
