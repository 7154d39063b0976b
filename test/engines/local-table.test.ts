import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AwsServiceError } from '../../lambda/core/rules/errors.ts';
import type { Fields } from '../../lambda/core/table/expressions.ts';
import { byDueIndex, byKindIndex, type Operations, type TableClient } from '../../lambda/core/table/table.ts';
import { openDatabase } from '../../local/data/database.ts';
import { LocalTable } from '../../local/table/table.ts';
import { MemoryStore } from '../support/memory/memory-store.ts';
import { Random } from '../support/random.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { dynamoDbLocal, openEngineTable } from './dynamodb.ts';
import { describeOn } from './engine.ts';

const tempFolder = useTempFolders();
const seeds = Number(process.env['TABLE_SEEDS'] ?? 20);
const firstSeed = Number(process.env['TABLE_SEED'] ?? 1);
const callsOfSeed = 150;

type Call = {
  [O in keyof Operations]: { readonly operation: O; readonly input: Operations[O][0] };
}[keyof Operations];

const sortKeys = ['A', 'A#1', 'A#2', 'A#\u{1f600}', 'A#\uffee', 'B', 'Bß', 'b'];
const strings = ['', 'x', 'X', 'é', '\uffee', '\u{1f600}', 'marked'];
const numbers = [0, 1, -1, 1.5, 10, 1e6, 2 ** 40, -0.25];
const conditions = [
  'attribute_exists(#pk)',
  'attribute_not_exists(#pk)',
  'attribute_not_exists(#n) OR #n < :n',
  '(attribute_exists(#n) AND #n >= :n) OR NOT attribute_exists(#s)',
  '#s = :s',
  '#s <> :s',
  '#n <> :n',
  '#s BETWEEN :s AND :t',
  '#n IN (:n, :s, :t)',
  'begins_with(#s, :s)',
  'size(#l) < :n',
  'size(#s) >= :n',
  'size(#m) = :n',
  '#m = :m',
  '#l <> :l',
  '#m.#a = :n',
  'attribute_not_exists(#m.#a.#b)',
  '#n < :s',
];
const updates = [
  'SET #n = :n',
  'SET #n = if_not_exists(#n, :n), #s = :s',
  'SET #l = list_append(if_not_exists(#l, :l), :l)',
  'SET #l = list_append(#l, :l)',
  'SET #n = #n + :n',
  'SET #m = :m REMOVE #l',
  'SET #m.#a = :n',
  'SET #m.#a = :s REMOVE #m.#b',
  'REMOVE #m.#a.#b',
  'ADD #n :n REMOVE #s',
  'ADD #n :n SET #t = #s',
  'ADD #s :n',
  'SET #gsi1pk = :s, #gsi1sk = :t',
  'SET #gsi1pk = :t, #gsi1sk = :s, #duepk = :due, #dueat = :n',
  'REMOVE #gsi1pk, #gsi1sk, #dueat',
  'SET #n = :n, #n = :n',
];

/** What an item or an expression of these calls may have, for a seed. */
class Calls {
  readonly #random: Random;
  readonly #tableName: string;

  constructor(seed: number, tableName: string) {
    this.#random = new Random(seed);
    this.#tableName = tableName;
  }

  next(): Call {
    const TableName = this.#tableName;
    const random = this.#random;
    switch (random.int(0, 9)) {
      case 0:
        return { operation: 'GetItem', input: { TableName, Key: this.#key(), ConsistentRead: true } };
      case 1: {
        const Keys = Array.from({ length: random.int(1, 4) }, () => this.#key());
        return {
          operation: 'BatchGetItem',
          input: { RequestItems: { [TableName]: { Keys, ConsistentRead: true } } },
        };
      }
      case 2:
      case 3:
        return { operation: 'PutItem', input: { TableName, Item: this.#item(), ...this.#guard('') } };
      case 4: {
        const ReturnValues = random.chance(0.5) ? 'ALL_OLD' : undefined;
        return {
          operation: 'DeleteItem',
          input: { TableName, Key: this.#key(), ReturnValues, ...this.#guard('') },
        };
      }
      case 5:
      case 6:
      case 7: {
        const UpdateExpression = random.pick(updates);
        const ReturnValues = random.chance(0.3) ? undefined : random.pick(['ALL_OLD', 'ALL_NEW'] as const);
        const change = { Key: this.#key(), UpdateExpression, ReturnValues };
        return { operation: 'UpdateItem', input: { TableName, ...change, ...this.#guard(UpdateExpression) } };
      }
      default:
        return { operation: 'Query', input: { TableName, ...this.#query() } };
    }
  }

  #key() {
    return { pk: this.#random.pick(['p', 'q']), sk: this.#random.pick(sortKeys) };
  }

  #values(): Record<string, unknown> {
    const random = this.#random;
    return {
      n: random.pick(numbers),
      s: random.pick(strings),
      t: random.pick(strings),
      l: Array.from({ length: random.int(0, 3) }, () => random.pick([...strings, ...numbers, true, null])),
      m: { a: random.pick([1, 'x', { b: 1 }]), ...(random.chance(0.5) && { b: random.pick(numbers) }) },
      due: random.pick(['due', 'late']),
    };
  }

  #item(): Fields {
    const random = this.#random;
    const { due, ...values } = this.#values();
    const some = Object.fromEntries(Object.entries(values).filter(() => random.chance(0.6)));
    const kind = random.chance(0.4) && { gsi1pk: 'kind', gsi1sk: random.pick(sortKeys) };
    const isDue = random.chance(0.4) && { duepk: due, dueat: random.pick(numbers) };
    return { ...some, ...kind, ...isDue, ...this.#key() };
  }

  /** A condition or none, and the placeholders of all expressions. */
  #guard(update: string) {
    const ConditionExpression = this.#random.chance(0.6) ? this.#random.pick(conditions) : undefined;
    return { ConditionExpression, ...this.#placeholders(`${update} ${ConditionExpression ?? ''}`) };
  }

  #placeholders(text: string) {
    const values = this.#values();
    const names = [...new Set(text.match(/#\w+/g))].map((alias) => [alias, alias.slice(1)]);
    const given = [...new Set(text.match(/:\w+/g))].map((name) => [name, values[name.slice(1)]]);
    return {
      ...(names.length > 0 && { ExpressionAttributeNames: Object.fromEntries(names) }),
      ...(given.length > 0 && { ExpressionAttributeValues: Object.fromEntries(given) }),
    };
  }

  #query() {
    const random = this.#random;
    const index = random.chance(0.4) ? undefined : random.pick([byKindIndex, byDueIndex] as const);
    const [pk, sk] = index === undefined ? ['pk', 'sk'] : [index.pk, index.sk];
    const partition =
      index === undefined
        ? random.pick(['p', 'q'])
        : index === byKindIndex
          ? 'kind'
          : random.pick(['due', 'late']);
    const bound = () => (index === byDueIndex ? random.pick(numbers) : random.pick(sortKeys));
    const ranges = [
      '',
      '#sk = :a',
      '#sk < :a',
      '#sk <= :a',
      '#sk > :a',
      '#sk >= :a',
      '#sk BETWEEN :a AND :b',
    ];
    const range = random.pick(index === byDueIndex ? ranges : [...ranges, 'begins_with(#sk, :a)']);
    const filter = random.chance(0.3) && index === undefined ? 'attribute_exists(#n)' : undefined;
    return {
      ...(index && { IndexName: index.name }),
      KeyConditionExpression: range === '' ? '#pk = :pk' : `#pk = :pk AND ${range}`,
      ...(filter && { FilterExpression: filter }),
      ExpressionAttributeNames: {
        '#pk': pk,
        ...(range !== '' && { '#sk': sk }),
        ...(filter && { '#n': 'n' }),
      },
      ExpressionAttributeValues: {
        ':pk': partition,
        ...(range.includes(':a') && { ':a': bound() }),
        ...(range.includes(':b') && { ':b': bound() }),
      },
      ConsistentRead: index === undefined,
      ...(random.chance(0.5) && { Limit: random.int(1, 4) }),
      ScanIndexForward: random.chance(0.7),
    };
  }
}

/** What a table answers: all pages of a query, and of a refusal the code. */
async function answerOf(client: TableClient, { operation, input }: Call): Promise<unknown> {
  try {
    if (operation !== 'Query') return sorted(operation, await client.send(operation, input as never));
    const items: Fields[] = [];
    let ExclusiveStartKey: Fields | undefined;
    do {
      const page = await client.send('Query', { ...input, ExclusiveStartKey } as Operations['Query'][0]);
      items.push(...(page.Items ?? []));
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey);
    // How many pages it takes isn't specified: an engine may tell at once that nothing follows.
    const { IndexName } = input as Operations['Query'][0];
    // Of an index, items with the same sort key come in any order.
    const { sk } = IndexName === byDueIndex.name ? byDueIndex : byKindIndex;
    return IndexName === undefined ? items : { order: items.map((item) => item[sk]), items: byKey(items) };
  } catch (error) {
    if (error instanceof AwsServiceError) return error.code;
    throw error;
  }
}

const byKey = (items: readonly Fields[]) =>
  [...items].sort((a, b) =>
    JSON.stringify([a['pk'], a['sk']]) < JSON.stringify([b['pk'], b['sk']]) ? -1 : 1,
  );

/** What of an answer counts. A BatchGetItem answers in any order. */
function sorted(operation: string, output: object): unknown {
  if (operation !== 'BatchGetItem') {
    const { Item, Attributes } = output as { Item?: Fields; Attributes?: Fields };
    return { Item, Attributes };
  }
  const [items = []] = Object.values(
    (output as { Responses?: Record<string, readonly Fields[]> }).Responses ?? {},
  );
  return byKey(items);
}

describeOn(dynamoDbLocal, (url) => {
  it.each(['in memory', 'in LevelDB'])(
    'the table %s answers random calls as DynamoDB does',
    {
      timeout: 600_000,
    },
    async (where) => {
      for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
        const { table, close } = await openEngineTable(url);
        // Nothing is kept parsed: each read is one of the disk.
        const database =
          where === 'in LevelDB'
            ? await openDatabase(join(tempFolder(), 'table'), { cacheBytesMax: 0 })
            : undefined;
        const local = database?.client ?? new LocalTable(new MemoryStore());
        const calls = new Calls(seed, table.tableName);
        for (let number = 0; number < callsOfSeed; number += 1) {
          const call = calls.next();
          const [theirs, ours] = [await answerOf(table.client, call), await answerOf(local, call)];
          expect(ours, `TABLE_SEED=${seed} TABLE_SEEDS=1, call ${number}: ${JSON.stringify(call)}`).toEqual(
            theirs,
          );
        }
        await close();
        await database?.close();
      }
    },
  );

  it('the table answers as DynamoDB does what random calls never ask', async () => {
    const { table, close } = await openEngineTable(url);
    const local = new LocalTable(new MemoryStore());
    const { tableName: TableName } = table;
    const Key = { pk: 'p', sk: 's' };
    const query = (value: unknown, more = '', values: Fields = {}) => ({
      operation: 'Query' as const,
      input: {
        TableName,
        KeyConditionExpression: `#pk = :pk${more}`,
        ExpressionAttributeNames: { '#pk': 'pk', ...(more !== '' && { '#sk': 'sk' }) },
        ExpressionAttributeValues: { ':pk': value, ...values },
      },
    });
    const put = (item: Fields) => ({
      operation: 'PutItem' as const,
      input: { TableName, Item: { ...Key, ...item } },
    });
    // Every object of JavaScript has it.
    const ExpressionAttributeNames = { '#a': 'constructor' };
    const update = (UpdateExpression: string) => ({
      operation: 'UpdateItem' as const,
      input: {
        TableName,
        Key,
        UpdateExpression,
        ExpressionAttributeNames,
        ExpressionAttributeValues: { ':n': 1 },
        ReturnValues: 'ALL_NEW' as const,
      },
    });
    const guard = { ConditionExpression: 'attribute_exists(#a)', ExpressionAttributeNames };
    const calls: readonly Call[] = [
      put({}),
      { operation: 'PutItem', input: { TableName, Item: Key, ...guard } },
      update('SET #a = if_not_exists(#a, :n)'),
      put({}),
      update('ADD #a :n'),
      put({ pk: 'x'.repeat(2048), sk: 'y'.repeat(1024) }),
      put({ pk: 'x'.repeat(2049) }),
      put({ sk: 'é'.repeat(513) }),
      put({ gsi1pk: 'kind', gsi1sk: 'y'.repeat(1025) }),
      { operation: 'BatchGetItem', input: { RequestItems: { [TableName]: { Keys: [] } } } },
      { operation: 'Query', input: { ...query('p').input, Limit: 0 } },
      query(''),
      query(1),
      query('p', ' AND begins_with(#sk, :a)', { ':a': '' }),
      query('p', ' AND #sk > :a', { ':a': 1 }),
      query('p', ' AND #sk BETWEEN :a AND :b', { ':a': 'a', ':b': 'z' }),
    ];
    for (const call of calls) {
      const [theirs, ours] = [await answerOf(table.client, call), await answerOf(local, call)];
      expect(ours, JSON.stringify(call).slice(0, 300)).toEqual(theirs);
    }
    await close();
  });
});
