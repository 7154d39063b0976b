import type { Exchange } from '../aws-http/exchange.ts';
import { AwsJsonClient } from '../aws-http/json-client.ts';
import type { AwsCredentials } from '../aws-http/sigv4.ts';

/** A queue, and how to reach it. */
export interface QueuePlace {
  readonly queueUrl: string;
  readonly region: string;
  /** Base URL of what stands in for SQS. Omitted: the host of the queue's URL. */
  readonly endpoint?: string | undefined;
  /** Called for each attempt. */
  readonly credentials: () => AwsCredentials;
}

/**
 * SQS, as a queue is reached.
 *
 * @param exchange replaces the network.
 */
export function createSqsClient(place: QueuePlace, exchange?: Exchange): AwsJsonClient {
  const { queueUrl, region, endpoint = new URL(queueUrl).origin, credentials } = place;
  const service = {
    title: 'SQS',
    signingName: 'sqs',
    targetPrefix: 'AmazonSQS',
    jsonVersion: '1.0',
  } as const;
  return new AwsJsonClient({ ...service, region, endpoint, credentials }, exchange);
}
