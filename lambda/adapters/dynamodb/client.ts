import { ConditionalCheckFailedException, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { LedgerUnavailableError } from '../../ports/ledger.ts';

export interface DynamoDbSettings {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Patience with a table that shares its process with others; 1 for DynamoDB itself. */
  readonly timeoutFactor?: number;
}

/**
 * A document client with short time-outs: DynamoDB answers in milliseconds or not at all, and a batch has
 * 25 seconds.
 */
export function createDynamoDb({
  timeoutFactor = 1,
  ...settings
}: DynamoDbSettings = {}): DynamoDBDocumentClient {
  const client = new DynamoDBClient({
    ...settings,
    maxAttempts: 5,
    requestHandler: { connectionTimeout: 1000 * timeoutFactor, requestTimeout: 3000 * timeoutFactor },
  });
  return DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
}

/**
 * Runs a request with a condition. `undefined` where the condition failed; the item as it was then is
 * handed to `refused`, where the engine tells (dynalite does not).
 *
 * @throws {LedgerUnavailableError} for everything else: what was asked may or may not have happened.
 */
export async function sendIf<T>(
  send: () => Promise<T>,
): Promise<{ ok: true; output: T } | { ok: false; failure: ConditionalCheckFailedException }> {
  try {
    return { ok: true, output: await send() };
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return { ok: false, failure: error };
    throw new LedgerUnavailableError('The table did not answer.', { cause: error });
  }
}

/** Runs a request without a condition. @throws {LedgerUnavailableError} */
export async function send<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    throw new LedgerUnavailableError('The table did not answer.', { cause: error });
  }
}
