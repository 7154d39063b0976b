import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { Log } from '../../core/rules/clock-and-log.ts';
import type { Consumer } from '../../core/rules/jobs.ts';
import { deployed } from './deployed.ts';

/** When the function's queue delivers again what failed. By default after its visibility timeout, which is for runs that died. */
export interface Redelivery {
  /** @param input.receiptHandle of the delivery that failed. @throws when the queue does not answer. */
  delay(input: { receiptHandle: string; delayMs: number }): Promise<void>;
}

interface EdgeDeps {
  readonly log: Log;
  readonly redelivery: Redelivery;
}

type SqsHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

/** A consumer as Lambda calls it for a queue of SQS. What isn't done comes again, and at last ends in the dead-letter queue. */
export function onSqs({ log, redelivery }: EdgeDeps, consume: Consumer): SqsHandler {
  return async (event, context) => {
    const batchItemFailures: { itemIdentifier: string }[] = [];
    for (const { messageId, receiptHandle, attributes, body } of event.Records) {
      const isDone = await consume({
        body,
        messageId,
        receiveCount: Math.max(1, Number(attributes.ApproximateReceiveCount) || 1),
        group: attributes.MessageGroupId,
        leftMs: context.getRemainingTimeInMillis(),
        functionRequestId: context.awsRequestId,
        again: (delayMs) =>
          redelivery
            .delay({ receiptHandle, delayMs })
            .catch((error) => log.warn('could not shorten the delay before the next try', { error })),
      });
      if (!isDone) batchItemFailures.push({ itemIdentifier: messageId });
    }
    return { batchItemFailures };
  };
}

/** The deployed form of a consumer. */
export const deployedConsumer = <D extends EdgeDeps>(
  create: (deps: D) => Consumer,
  compose: () => D,
  prepare?: (deps: D) => Promise<void>,
) => deployed((deps: D) => onSqs(deps, create(deps)), compose, prepare);
