import type { JsonObject } from '../aws-http/json-answers.ts';
import { fromAttributes, toAttributes } from './attributes.ts';
import type { Fields } from './expressions.ts';
import type { TableDefinition } from './table.ts';

interface Placeholders {
  /** `#alias` → name. */
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  /** `:name` → value. */
  readonly ExpressionAttributeValues?: Fields | undefined;
}

/** What a query asks for, in any table. */
export interface Query extends Placeholders {
  readonly IndexName?: string;
  readonly KeyConditionExpression: string;
  /** Leaves items out that were read, and counted to the limit. */
  readonly FilterExpression?: string;
  readonly ConsistentRead?: boolean;
  readonly Limit?: number;
  /** False: the last sort key comes first. */
  readonly ScanIndexForward?: boolean;
}

interface Named {
  readonly TableName: string;
}

interface Write extends Named, Placeholders {
  readonly ConditionExpression?: string | undefined;
  /** The item that the answer has, if any. Default: none. */
  readonly ReturnValues?: 'ALL_OLD' | 'ALL_NEW' | undefined;
}

type Keys = Readonly<Record<string, { readonly Keys: readonly Fields[]; readonly ConsistentRead?: boolean }>>;

/** DynamoDB's operations that are called, with their input and output. Items are as JavaScript has them. */
interface Operations {
  GetItem: [Named & { Key: Fields; ConsistentRead?: boolean }, { Item?: Fields }];
  BatchGetItem: [
    { RequestItems: Keys },
    { Responses?: Readonly<Record<string, readonly Fields[]>>; UnprocessedKeys?: Keys },
  ];
  Query: [
    Query & Named & { ExclusiveStartKey?: Fields | undefined },
    { Items?: readonly Fields[]; LastEvaluatedKey?: Fields },
  ];
  PutItem: [Write & { Item: Fields }, object];
  UpdateItem: [Write & { Key: Fields; UpdateExpression: string }, { Attributes?: Fields }];
  DeleteItem: [Write & { Key: Fields }, { Attributes?: Fields }];
  // For engines without CloudFormation and without TTL.
  Scan: [
    Named &
      Placeholders & {
        FilterExpression: string;
        ProjectionExpression: string;
        Limit: number;
        ExclusiveStartKey?: Fields | undefined;
      },
    { Items?: readonly Fields[]; LastEvaluatedKey?: Fields },
  ];
  CreateTable: [TableDefinition, object];
  DescribeTable: [Named, { Table?: { TableStatus?: string } }];
  DeleteTable: [Named, object];
}

/** Calls operations of DynamoDB. */
export interface TableClient {
  /** @throws {AwsServiceError} if it was refused or not answered. Its `code` tells why. */
  send<O extends keyof Operations>(operation: O, input: Operations[O][0]): Promise<Operations[O][1]>;
}

type Conversions = Readonly<Record<string, (value: never) => unknown>>;

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

/** @param call sends an operation's input and reads its output, both in DynamoDB's JSON. */
export function createTableClient(
  call: (operation: string, input: object) => Promise<JsonObject>,
): TableClient {
  return {
    async send<O extends keyof Operations>(operation: O, input: Operations[O][0]) {
      const output = await call(operation, converted(input, inputs));
      return converted(output, outputs) as Operations[O][1];
    },
  };
}

function converted(members: object, conversions: Conversions): object {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, conversions[name]?.(value as never) ?? value]),
  );
}

function byTable<T>(tables: Readonly<Record<string, T>>, convert: (value: T) => unknown): object {
  return Object.fromEntries(Object.entries(tables).map(([name, value]) => [name, convert(value)]));
}
