import { createRequire } from 'node:module';
import { type Callback, create, type DynaliteStore, type Items, type Write } from 'dynalite/db/index.js';
import { checkTypes, checkValidations } from 'dynalite/validations/index.js';
import { WriteQueue } from './write-queue.ts';

const require = createRequire(import.meta.url);

type Action = (store: DynaliteStore, input: object, callback: Callback<object>) => void;

/** The operations that the adapters of lambda/adapters/dynamodb send, those that make the table, and one to sweep it. */
const operations = new Map(
  [
    { name: 'BatchGetItem', isAtomic: false },
    { name: 'CreateTable', isAtomic: false },
    { name: 'DeleteItem', isAtomic: true },
    { name: 'DescribeTable', isAtomic: false },
    { name: 'GetItem', isAtomic: false },
    { name: 'PutItem', isAtomic: true },
    { name: 'Query', isAtomic: false },
    { name: 'Scan', isAtomic: false },
    { name: 'UpdateItem', isAtomic: true },
  ].map(({ name, isAtomic }) => {
    const file = `${name[0]?.toLowerCase()}${name.slice(1)}.js`;
    const action: Action = require(`dynalite/actions/${file}`);
    const rules: { types: unknown; custom: unknown } = require(`dynalite/validations/${file}`);
    return [name, { action, rules, isAtomic }] as const;
  }),
);

/** What DynamoDB answers: the output, or the error that the client made. */
export interface Answer {
  readonly statusCode: number;
  readonly body: object;
}

export interface OpenTables {
  /** The error of the first write that failed. No write succeeds after it. */
  readonly failure: Error | undefined;
  /** @throws the error of LevelDB. */
  perform(operation: string, input: unknown): Promise<Answer>;
  /** Nothing may be running. */
  close(): Promise<void>;
}

export type CreateStore = typeof create;

/**
 * Opens dynalite's tables, without its server: that one ends the process when LevelDB fails. A change of an item and of
 * its index entries is one write here, so that no failure and no kill leaves them different.
 *
 * @param prepare is called once the database is open.
 * @throws the error of LevelDB, or of `prepare`. The database is closed then.
 */
export async function openTables(
  path: string,
  prepare: (store: DynaliteStore) => Promise<void>,
  createStore: CreateStore = create,
): Promise<OpenTables> {
  const store = createStore({ path, createTableMs: 0 });
  await store.db.open();
  const queue = new WriteQueue(store.db.batch.bind(store.db));
  /** Set while index entries are written, which wait for their item. */
  let collected: Write[] | undefined;
  const write = (writes: readonly Write[], callback: Callback) => {
    if (collected === undefined) queue.add(writes, callback);
    else collected.push(...writes);
  };
  store.db.put = (key, value, callback) => write([{ type: 'put', key, value }], callback);
  store.db.del = (key, callback) => write([{ type: 'del', key }], callback);
  store.db.batch = write;

  /** The store for one change of one item: what is written to indexes is kept, and written with the item. */
  const forOneItem = (): DynaliteStore => {
    const kept: Write[] = [];
    const keep = (change: () => void, callback: Callback) => {
      collected = kept;
      change();
      collected = undefined;
      setImmediate(callback, null);
    };
    const withKept = (change: () => void, callback: Callback) => {
      const own: Write[] = [];
      collected = own;
      change();
      collected = undefined;
      queue.add([...kept, ...own], callback);
    };
    return {
      ...store,
      getIndexDb: (...names) => redirected(store.getIndexDb(...names), keep),
      getItemDb: (name) => redirected(store.getItemDb(name), withKept),
    };
  };

  try {
    await prepare(store);
  } catch (error) {
    // Open, it would be locked for the next attempt.
    await store.db.close();
    throw error;
  }
  return {
    get failure() {
      return queue.failure;
    },
    async perform(operation, input) {
      const known = operations.get(operation);
      if (known === undefined) throw new Error(`The embedded table has no operation ${operation}.`);
      const { action, rules, isAtomic } = known;
      try {
        const checked = checkTypes(input, rules.types);
        checkValidations(checked, rules.types, rules.custom, store);
        const body = await call(action, isAtomic ? forOneItem() : store, checked);
        return { statusCode: 200, body };
      } catch (error) {
        if (!isApiError(error)) throw error;
        return { statusCode: error.statusCode, body: error.body };
      }
    },
    close: () => store.db.close(),
  };
}

const noCallback: Callback = () => {};

/** The same items, but for who writes them. */
function redirected(items: Items, send: (change: () => void, callback: Callback) => void): Items {
  return {
    ...items,
    put: (key, value, callback) => send(() => items.put(key, value, noCallback), callback),
    del: (key, callback) => send(() => items.del(key, noCallback), callback),
  };
}

function call(action: Action, store: DynaliteStore, input: object): Promise<object> {
  return new Promise((resolve, reject) => {
    action(store, input, (error, output) => (error ? reject(error) : resolve(output ?? {})));
  });
}

/** An error that DynamoDB would answer, such as a condition that failed. */
interface ApiError {
  readonly statusCode: number;
  readonly body: object;
}

function isApiError(error: unknown): error is ApiError {
  return typeof error === 'object' && error !== null && 'statusCode' in error && 'body' in error;
}
