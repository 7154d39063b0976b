import { SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { type CallLimits, clientOptions } from '../aws-sdk/client-options.ts';

/** Of one request. What comes twice is a message more, unless the queue is FIFO: it drops what has the same id. */
const sendLimits = { attemptsMax: 5, connectMs: 1000, answerMs: 3000 };

/** For a run that failed at its deadline and has little time left, and for somebody who looks at a page. */
export const quickLimits = { attemptsMax: 2, connectMs: 1000, answerMs: 2000 };

/** @param config goes before what the environment says. */
export function createSqsClient(limits: CallLimits = sendLimits, config: SQSClientConfig = {}): SQSClient {
  // By default a queue is reached at the host of its URL, whatever stands in for SQS.
  return new SQSClient({ ...clientOptions(limits), useQueueUrlAsEndpoint: false, ...config });
}
