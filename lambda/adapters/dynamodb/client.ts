import { ConditionalCheckFailedException, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { LedgerUnavailableError } from '../../ports/ledger.ts';
import { requestHandler } from '../sdk/request-limits.ts';

export interface DynamoDbSettings {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Multiplies the timeouts, for a table that shares its process with others. 1 for DynamoDB itself. */
  readonly timeoutFactor?: number;
}

/**
 * A document client with short timeouts: DynamoDB answers in milliseconds or not at all, and a batch has
 * 25 seconds.
 */
export function createDynamoDb({
  timeoutFactor = 1,
  ...settings
}: DynamoDbSettings = {}): DynamoDBDocumentClient {
  const client = new DynamoDBClient({
    ...settings,
    maxAttempts: 5,
    requestHandler: requestHandler({ connectMs: 1000 * timeoutFactor, answerMs: 3000 * timeoutFactor }),
  });
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
}

/**
 * Sends a request that has a condition. `ok: false`: the condition failed, and nothing was written.
 *
 * @throws {LedgerUnavailableError} for every other failure. The write may or may not have happened.
 */
export async function sendIf<T>(request: () => Promise<T>): Promise<{ ok: true; output: T } | { ok: false }> {
  try {
    return { ok: true, output: await request() };
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return { ok: false };
    throw unavailable(error);
  }
}

/**
 * Sends a request that has no condition.
 *
 * @throws {LedgerUnavailableError} for every failure. A write may or may not have happened.
 */
export async function send<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw unavailable(error);
  }
}

function unavailable(cause: unknown): LedgerUnavailableError {
  return new LedgerUnavailableError('The table refused the request, or did not answer.', { cause });
}
