import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { AwsServiceError, LedgerUnavailableError } from '../rules/errors.ts';
import { calling, clientOptions } from './sdk.ts';
import type { TableClient } from './table.ts';

const commands = {
  GetItem: GetCommand,
  BatchGetItem: BatchGetCommand,
  Query: QueryCommand,
  PutItem: PutCommand,
  UpdateItem: UpdateCommand,
  DeleteItem: DeleteCommand,
};

/** DynamoDB answers in milliseconds or not at all, and a batch has 25 seconds. */
const limits = { attemptsMax: 5, connectMs: 1000, answerMs: 3000 };

/** Of everything that speaks DynamoDB's API. ScyllaDB's answers have no request id. */
const answerType = 'application/x-amz-json-1.0';

/**
 * DynamoDB. An item holds strings, numbers up to 2^53, booleans, null, lists and plain objects. What is undefined is left
 * out, in lists too.
 *
 * @param config goes before what the environment says.
 */
export function createDynamoDb(config: DynamoDBClientConfig = {}): TableClient {
  const sender = new DynamoDBClient({ ...clientOptions(limits), ...config });
  sender.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers } = result.response as { readonly headers: Readonly<Record<string, string>> };
      // An empty answer of a proxy would say that nothing is there, or that something was written.
      if (!headers['content-type']?.startsWith(answerType))
        throw new Error(`what answered isn't DynamoDB: its Content-Type isn't ${answerType}.`);
      return result;
    },
    { step: 'deserialize', priority: 'high' },
  );
  const client = DynamoDBDocumentClient.from(sender, { marshallOptions: { removeUndefinedValues: true } });
  return {
    async send(operation, input) {
      const command = new commands[operation](input as never);
      const answer = await calling({ title: 'DynamoDB', operation }, () =>
        client.send(command as GetCommand),
      );
      return answer as never;
    },
  };
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
