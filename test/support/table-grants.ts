import { AsyncLocalStorage } from 'node:async_hooks';
import { AwsServiceError } from '../../lambda/core/rules/errors.ts';
import type { Operations, TableClient } from '../../lambda/core/table/table.ts';
import type { ItemGrant, TableAction } from '../../lambda/frame/spec.ts';
import { consumerOf, type FunctionName, functionSpecs, type QueueName } from '../../lambda/routes.ts';
import type * as compose from '../../local/compose.ts';

const running = new AsyncLocalStorage<FunctionName>();

/** What a function did with the table: `Action PARTITION#`. */
export const tableUse = new Map<FunctionName, Set<string>>();

/** What functions tried with the table, and their grants forbid on AWS: most who are refused only log it. */
export const tableDenied: string[] = [];

type Input = Operations[keyof Operations][0];

/** A pattern of IAM, in which * stands for anything. */
const isLike = (text: string, pattern: string) =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replace(/[^\w]/g, '\\$&'))
      .join('.*')}$`,
    's',
  ).test(text);

/** The partitions that a request names. Of an index: none. */
function partitionsOf(input: Input): string[] {
  if ('Key' in input) return [String(input.Key['pk'])];
  if ('Item' in input) return [String(input.Item['pk'])];
  if ('RequestItems' in input)
    return Object.values(input.RequestItems).flatMap(({ Keys }) => Keys.map(({ pk }) => String(pk)));
  return [String(input.ExpressionAttributeValues?.[':pk'])];
}

/** The attributes that a request names. */
const attributesOf = (input: Input) => [
  ...('Key' in input ? Object.keys(input.Key) : []),
  ...('Item' in input ? Object.keys(input.Item) : []),
  ...('ExpressionAttributeNames' in input ? Object.values(input.ExpressionAttributeNames ?? {}) : []),
];

/** Whether IAM would let a function do this on AWS, by its grants on the table and its indexes. */
export function mayDo(name: FunctionName, action: TableAction, input: Input): boolean {
  const { table = [], items = [], indexes = [] } = functionSpecs[name];
  if ('IndexName' in input && input.IndexName !== undefined)
    return (indexes as readonly string[]).includes(input.IndexName);
  if (table.includes(action)) return true;
  const isGranted = ({ actions, partitions, attributes }: ItemGrant) =>
    actions.includes(action) &&
    partitionsOf(input).every((pk) => partitions.some((pattern) => isLike(pk, pattern))) &&
    (!attributes || attributesOf(input).every((attribute) => attributes.includes(attribute)));
  return items.some(isGranted);
}

/** A client that refuses what AWS would refuse the function that runs. What no function does is none of its business. */
function granted(client: TableClient): TableClient {
  return {
    send(operation, input) {
      const name = running.getStore();
      if (name === undefined) return client.send(operation, input);
      const use = tableUse.get(name) ?? new Set();
      tableUse.set(name, use);
      for (const pk of partitionsOf(input)) use.add(`${operation} ${pk.replace(/#.*/s, '#')}`);
      if (mayDo(name, operation, input)) return client.send(operation, input);
      const message = `${name} may not ${operation} ${partitionsOf(input)} (${attributesOf(input)})`;
      tableDenied.push(message);
      return Promise.reject(new AwsServiceError({ message, code: 'AccessDeniedException', status: 400 }));
    },
  };
}

/** Each function, under its name. */
const named = <Of extends object>(functions: Of): Of =>
  Object.fromEntries(
    Object.entries(functions).map(([name, run]) => [
      name,
      (...input: unknown[]) => running.run(name as FunctionName, () => run(...input)),
    ]),
  ) as Of;

/** `local/compose.ts`, with the grants of each function on the table. */
export const withTableGrants = (real: typeof compose): typeof compose => ({
  ...real,
  createFunctions(...input) {
    const { http, refresh, consumers, ...rest } = real.createFunctions(...input);
    const ofQueues = Object.entries(consumers).map(([queue, consume]) => {
      const name = consumerOf(queue as QueueName);
      return [queue, named({ [name]: consume })[name]];
    });
    return {
      ...rest,
      http: named(http),
      refresh: named({ refresh }).refresh,
      consumers: Object.fromEntries(ofQueues),
    };
  },
  composeEmbedded: ({ database, ...input }) =>
    real.composeEmbedded({ ...input, database: { ...database, client: granted(database.client) } }),
});
