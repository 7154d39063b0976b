import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { NewerFormatError } from '../rules/errors.ts';
import type { Fields } from './expressions.ts';

/**
 * The one table. What a tenant owns shares its partition:
 *
 * | item        | pk             | sk                      | by-kind (gsi1pk, gsi1sk)      | by-due (duepk, dueat)         |
 * | ----------- | -------------- | ----------------------- | ----------------------------- | ----------------------------- |
 * | tenant      | TENANT#{name}  | TENANT                  | TENANT, name                  | TENANT#{shard}, next full count (RESERVATION#{shard}, next look for uploads, if that is sooner) |
 * | repo        | TENANT#{name}  | REPO#{repo}             |                               | while closed: DELETION#{shard}, closing |
 * | reservation | TENANT#{name}  | RESERVATION#{repo}#{id} |                               | RESERVATION#{shard}, death (pending: end of its batch) |
 * | shard       | SHARDS#{name}#{repo} | SHARD#{prefix}    |                               |                               |
 * | deletion    | TENANT#{name}  | DELETION#{repo}#{id}    |                               | DELETION#{shard}, end of grace |
 * | empty objects | TENANT#{name} | EMPTIED#{repo}#{time}-{id} |                        |                               |
 * | gc run    | TENANT#{name}  | CLEANUP#{repo}          |                               | while unfinished: DELETION#{shard}, next look |
 * | … seen      | SEEN#{name}#{watch} | {batch's begin}#{id} |                            |                               |
 * | … gone      | GONE#{name}#{repo} | {oid}               |                               |                               |
 * | chunked upload | UPLOAD#{name}#{repo}#{oid} | {upload}    | UPLOADS, next look#upload     |                               |
 * | … proof, SHA-256 of a chunk | UPLOAD#{upload}#{oid} | {chunk}, #{chunk} |       |                               |
 * | file in parts | PARTS#{name} | {repo}#{name's hash}#{upload} | PARTS, next look#upload |                               |
 * | token       | TOKEN#{id}     | TOKEN                   | TOKENS#{tenant}, createdAt#id |                               |
 * | … session   | TOKEN#{id}     | SESSION#{id} (of the operator: below TOKEN#operator) |  |                               |
 * | request key | REQUEST#{id}   | REQUEST                 |                               |                               |
 * | export      | EXPORTS#{name} | EXPORT#{id}             | while unfinished: EXPORTS, name#id |                          |
 * | … places    | EXPORTS#{name} | PLACES                  |                               |                               |
 * | rule        | EXCHANGE#{name} | RULE#{id}             |                               |                               |
 * | invitation  | INVITATION#{name} | {id}                 |                               |                               |
 * | device      | DEVICE#{slot}  | DEVICE                  |                               |                               |
 * | … counts    | DEVICE#{name, slot, token's id} | TRIES, STARTS, APPROVALS |                               |                               |
 * | downloads   | DOWNLOADS#{name} | MONTH#{month}, DAY#{day}#{repo}#{token} |               |                               |
 * | public repo | PUBLIC#{name}  | REPO#{repo}             |                               |                               |
 * | … downloads | PUBLIC#{name}  | MONTH#{month}#{repo}    |                               |                               |
 * | linked repo | MAPPED#{name}  | REPO#{repo}             |                               |                               |
 * | tenant link | LINK#{name}    | REPO#                   |                               |                               |
 * | … pinned    | PINNED#{name}  | REPO#{repo}             |                               |                               |
 * | grant       | GRANT#{hash}   | GRANT                   |                               |                               |
 * | user        | TOKEN#{id}     | TOKEN (of somebody who signed in by a git host) | USERS#{tenant}, createdAt#id |            |
 * | allowed organization | USERS#{name} | ORGANIZATION#{host}:{number} |                  |                               |
 * | … its tenants | ORGANIZATION#{host}:{number} | TENANTS   |                               |                               |
 * | sign-in     | LOGIN#{hash}   | LOGIN                   |                               |                               |
 * | audit       | AUDIT#{name}   | {time}#{request's id}   |                               |                               |
 * | history     | HISTORY#{name} | DAY#{day}, REPO#{repo}, SAMPLE |                        |                               |
 * | warnings    | ALERT#{name}   | ALERT                   | while pending: ALERTS, name   |                               |
 * | webhook     | WEBHOOK#{name} | WEBHOOK                 |                               |                               |
 * | e-mails     | EMAIL#{name}   | EMAIL                   | while subscribed: EMAILS, next day#name |                     |
 * | file lock   | LOCKS#{name}   | {repo}#{path's hash}    |                               |                               |
 * | schedule    | SCHEDULE       | SCHEDULE                |                               |                               |
 * | failures    | FAILURES       | FAILURES                |                               |                               |
 *
 * A tenant's item tells the format of all in its partition (format.ts).
 *
 * A repo's reservations and deletions lie together, so that a batch reads those of its own repo alone.
 *
 * Both indexes hold keys only, so the counter's writes never reach them.
 */
export const keyNames = { pk: 'pk', sk: 'sk' } as const;

/**
 * Seconds since 1970, after which DynamoDB may remove an item (TTL). Items of the ledger never have it: a reservation
 * may be the only record that a repo needs to be scanned.
 */
export const expiryAttribute = 'expiresAt';

/** The field by which the table removes an item some time after this. */
export const expiring = (atMs: number) => ({ [expiryAttribute]: Math.ceil(atMs / 1000) });

/** Finds tenants by name, and the tokens of a tenant by age. */
export const byKindIndex = { name: 'by-kind', pk: 'gsi1pk', sk: 'gsi1sk' } as const;

/** Attributes that put an item into the by-kind index. */
export function kindKey(kind: string, sortKey: string) {
  return { [byKindIndex.pk]: kind, [byKindIndex.sk]: sortKey };
}

/** Attributes that take an item out of it. */
export const noKind = { [byKindIndex.pk]: undefined, [byKindIndex.sk]: undefined };

/** A time in a sort key. All have one length, so that they sort as numbers do. */
export const timeText = (atMs: number) => String(Math.trunc(atMs)).padStart(16, '0');

/** Finds what is due, the longest due first. */
export const byDueIndex = { name: 'by-due', pk: 'duepk', sk: 'dueat' } as const;

/** Partitions of each kind in the due index. One alone would limit all tenants together to 1,000 writes a second. */
export const dueShards = 4;

/** Input of CreateTable, for engines without CloudFormation. */
export function tableDefinition(tableName: string): CreateTableCommandInput {
  return {
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: keyNames.pk, AttributeType: 'S' },
      { AttributeName: keyNames.sk, AttributeType: 'S' },
      { AttributeName: byKindIndex.pk, AttributeType: 'S' },
      { AttributeName: byKindIndex.sk, AttributeType: 'S' },
      { AttributeName: byDueIndex.pk, AttributeType: 'S' },
      { AttributeName: byDueIndex.sk, AttributeType: 'N' },
    ],
    KeySchema: [
      { AttributeName: keyNames.pk, KeyType: 'HASH' },
      { AttributeName: keyNames.sk, KeyType: 'RANGE' },
    ],
    GlobalSecondaryIndexes: [byKindIndex, byDueIndex].map((index) => ({
      IndexName: index.name,
      KeySchema: [
        { AttributeName: index.pk, KeyType: 'HASH' as const },
        { AttributeName: index.sk, KeyType: 'RANGE' as const },
      ],
      Projection: { ProjectionType: 'KEYS_ONLY' as const },
    })),
  };
}

/**
 * The newest format that this version reads and writes. A tenant's item has it in `format`, for all in its partition:
 * every request reads that item anyway. One without it is of format 1.
 *
 * CONTRIBUTING.md, "Rules", has the changes of an item that need no new format. For any other, a first release reads
 * the next format and a second one writes it: it sets `format` with the first write that an older version would
 * misread.
 */
export const knownFormat = 1;

/**
 * The condition that a tenant's item is of a format that this version knows, for writes that do not read it first. If
 * it fails, reading the item tells why.
 */
export const inKnownFormat = '(attribute_not_exists(#format) OR #format <= :knownFormat)';
export const formatValues = { ':knownFormat': knownFormat } as const;

/** @throws {NewerFormatError} */
export function refuseNewerFormat(item: { tenant: string; format: number }): void {
  if (item.format <= knownFormat) return;
  throw new NewerFormatError(
    `Tenant ${item.tenant} was written by a newer version: its items have format ${item.format}, and this version ` +
      `knows none above ${knownFormat}. Deploy that version again.`,
  );
}

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

/** The key of a tenant's item. Its partition holds everything that the tenant owns. */
export const tenantKey = (tenant: string) => ({ pk: `TENANT#${tenant}`, sk: 'TENANT' });
