import type { Fields } from './expressions.ts';

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
export interface Operations {
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
}

/** Calls operations of DynamoDB. */
export interface TableClient {
  /** @throws {AwsServiceError} if it was refused or not answered. Its `code` tells why. */
  send<O extends keyof Operations>(operation: O, input: Operations[O][0]): Promise<Operations[O][1]>;
}
