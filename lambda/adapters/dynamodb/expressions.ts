import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** A table and the client that reaches it. */
export interface Table {
  readonly client: DynamoDBDocumentClient;
  readonly tableName: string;
}

/** Aliases `#name` → `name`: every attribute goes by its alias, since many plain names are reserved words. */
export function aliases(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [`#${name}`, name]));
}

/** Conditions that must all hold. */
export function all(...conditions: readonly string[]): string {
  return conditions.join(' AND ');
}

/** The expression that an item is there: `#pk` must be among the aliases. */
export const exists = 'attribute_exists(#pk)';
export const absent = 'attribute_not_exists(#pk)';
