import { LedgerUnavailableError } from '../../ports/ledger.ts';
import { awsDomain } from '../aws-http/domain.ts';
import type { Exchange } from '../aws-http/exchange.ts';
import { AwsJsonClient } from '../aws-http/json-client.ts';
import type { RetrySettings } from '../aws-http/retry.ts';
import { AwsServiceError } from '../aws-http/service-error.ts';
import type { AwsCredentials } from '../aws-http/sigv4.ts';
import { createTableClient, type TableClient } from './table-client.ts';

/** How to reach DynamoDB. */
export interface DynamoDbSettings {
  readonly region: string;
  /** Base URL of what stands in for DynamoDB. Omitted: the region's own. */
  readonly endpoint?: string | undefined;
  /** Called for each attempt. */
  readonly credentials: () => AwsCredentials;
  /** Multiplies the timeouts, for a table that shares its process with others. 1 for DynamoDB itself. */
  readonly timeoutFactor?: number;
  /** From 0 to 1: spreads retries. */
  readonly random?: () => number;
}

/** Pauses between attempts: those of the SDK. */
const pauses: Omit<RetrySettings, 'attemptsMax'> = {
  baseDelayMs: 25,
  throttledDelayMs: 1_000,
  delayMaxMs: 20_000,
  retryAfterMaxMs: 5_000,
};

/** Above the largest answer: 16 MB of items, even if each of their bytes is escaped. */
const answerBytesMax = 128 * 1024 ** 2;

/**
 * A client with short timeouts: DynamoDB answers in milliseconds or not at all, and a batch has 25 seconds.
 *
 * @param exchange replaces the network.
 */
export function createDynamoDb(settings: DynamoDbSettings, exchange?: Exchange): TableClient {
  const { region, credentials, random = Math.random, timeoutFactor = 1 } = settings;
  const endpoint = settings.endpoint ?? `https://dynamodb.${region}.${awsDomain(region)}`;
  const names = { title: 'DynamoDB', signingName: 'dynamodb', targetPrefix: 'DynamoDB_20120810' };
  const service = new AwsJsonClient(
    { ...names, jsonVersion: '1.0', region, endpoint, credentials, random, pauses, answerBytesMax },
    exchange,
  );
  const limits = { attemptsMax: 5, connectMs: 1000 * timeoutFactor, answerMs: 3000 * timeoutFactor };
  return createTableClient((operation, input) => service.call(operation, input, limits));
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
    if (error instanceof AwsServiceError && error.code === 'ConditionalCheckFailedException')
      return { ok: false };
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
