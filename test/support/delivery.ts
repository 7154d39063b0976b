import type { SQSEvent } from 'aws-lambda';
import type { Consumer, Delivery } from '../../lambda/core/rules/jobs.ts';

const textOf = (body: unknown) => (typeof body === 'string' ? body : (JSON.stringify(body) ?? ''));

/** Delivers a job as its queue does. @returns whether it's done, and after which time it's to come again. */
export async function deliver(
  consume: Consumer,
  body: unknown,
  more: Partial<Pick<Delivery, 'messageId' | 'receiveCount' | 'leftMs'>> = {},
): Promise<{ isDone: boolean; delays: readonly number[] }> {
  const delays: number[] = [];
  const again = async (delayMs: number) => void delays.push(delayMs);
  const delivery = { messageId: 'm', receiveCount: 1, leftMs: 300_000, body: textOf(body), again };
  return { isDone: await consume({ ...delivery, ...more }), delays };
}

/** The event that SQS sends. @param of.group of a FIFO queue. */
export const sqsEvent = (
  body: unknown,
  {
    messageId = 'm',
    receiveCount = '1',
    group,
  }: { messageId?: string; receiveCount?: string; group?: string } = {},
): SQSEvent => ({
  Records: [
    {
      messageId,
      receiptHandle: `${messageId}#${receiveCount}`,
      body: textOf(body),
      attributes: {
        ApproximateReceiveCount: receiveCount,
        SentTimestamp: '0',
        ApproximateFirstReceiveTimestamp: '0',
        SenderId: 's',
        ...(group !== undefined && { MessageGroupId: group }),
      },
      messageAttributes: {},
      md5OfBody: '',
      eventSource: 'aws:sqs',
      eventSourceARN: 'arn',
      awsRegion: 'eu-central-1',
    },
  ],
});
