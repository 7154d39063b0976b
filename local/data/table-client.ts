import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { AwsServiceError } from '../../lambda/adapters/aws-sdk/service-error.ts';
import type { Fields } from '../../lambda/adapters/dynamodb/expressions.ts';
import type { Operations } from '../../lambda/adapters/dynamodb/table-client.ts';
import type { Turns } from '../turns.ts';
import type { TableEngine } from './table-engine.ts';

/** What this process asks its own table beside what the adapters do, as there is neither CloudFormation nor TTL. */
interface LocalOperations extends Operations {
  Scan: [
    {
      TableName: string;
      FilterExpression: string;
      ProjectionExpression: string;
      ExpressionAttributeNames: Readonly<Record<string, string>>;
      ExpressionAttributeValues: Fields;
      Limit: number;
      ExclusiveStartKey?: Fields | undefined;
    },
    { Items?: readonly Fields[]; LastEvaluatedKey?: Fields },
  ];
  CreateTable: [CreateTableCommandInput, object];
  DescribeTable: [{ TableName: string }, { Table?: { TableStatus?: string } }];
}

export interface LocalTableClient {
  send<O extends keyof LocalOperations>(
    operation: O,
    input: LocalOperations[O][0],
  ): Promise<LocalOperations[O][1]>;
}

/** Requests and answers of fewer bytes are read and written within a fraction of a millisecond. */
const smallBytesMax = 8 * 1024;

/**
 * What stands in for DynamoDB's service: the engine in this process, without a connection. So there is no port on which
 * others could reach the table.
 *
 * Large requests and answers are pieces of work of their own, with a pause between them and what the client does.
 */
export function createLocalTableClient(
  engine: Pick<TableEngine, 'run'>,
  turns: Pick<Turns, 'pause'>,
): LocalTableClient {
  return {
    async send<O extends keyof LocalOperations>(operation: O, input: LocalOperations[O][0]) {
      const text = JSON.stringify(converted(input, inputs));
      if (text.length > smallBytesMax) await turns.pause();
      const { statusCode: status, body } = await engine.run(operation, JSON.parse(text));
      const answer = JSON.stringify(body);
      if (answer.length > smallBytesMax) await turns.pause();
      // A copy: nobody may change what the engine keeps.
      const output = JSON.parse(answer) as object;
      if (status !== 200) throw refusal(operation, { status, ...output });
      return converted(output, outputs) as LocalOperations[O][1];
    },
  };
}

function refusal(operation: string, answer: { status: number; __type?: string; message?: string }) {
  const { status, __type = 'Unknown', message = 'it gave no reason.' } = answer;
  const code = __type.slice(__type.indexOf('#') + 1);
  return new AwsServiceError({ status, code, message: `The table refused ${operation}: ${message}` });
}

type Conversions = Readonly<Record<string, (value: never) => unknown>>;
type Keys = Readonly<Record<string, { readonly Keys: readonly Fields[] }>>;

const toAttributes = (fields: Fields) => marshall(fields, { removeUndefinedValues: true });
const fromAttributes = (attributes: object) => unmarshall(attributes as never);
const itemsOf = (list: readonly object[]) => list.map(fromAttributes);

/** The members of an input that hold items or keys. */
const inputs: Conversions = {
  Key: toAttributes,
  Item: toAttributes,
  ExclusiveStartKey: toAttributes,
  ExpressionAttributeValues: toAttributes,
  RequestItems: (tables: Keys) =>
    byTable(tables, (asked) => ({ ...asked, Keys: asked.Keys.map(toAttributes) })),
};

/** The members of an output that hold items or keys. */
const outputs: Conversions = {
  Item: fromAttributes,
  Items: itemsOf,
  Attributes: fromAttributes,
  LastEvaluatedKey: fromAttributes,
  Responses: (tables: Readonly<Record<string, readonly object[]>>) => byTable(tables, itemsOf),
  UnprocessedKeys: (tables: Keys) => byTable(tables, ({ Keys }) => ({ Keys: itemsOf(Keys) })),
};

function converted(members: object, conversions: Conversions): object {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, conversions[name]?.(value as never) ?? value]),
  );
}

function byTable<T>(tables: Readonly<Record<string, T>>, convert: (value: T) => unknown): object {
  return Object.fromEntries(Object.entries(tables).map(([name, value]) => [name, convert(value)]));
}
