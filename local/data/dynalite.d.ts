/** The parts of dynalite 4 that this project uses. The package has no types. */
declare module 'dynalite' {
  import type { Server } from 'node:http';

  interface DynaliteOptions {
    /** Folder of the database. Without it the database is in memory. */
    path?: string;
    /** How long a new table has the status CREATING. */
    createTableMs?: number;
  }

  /** `close` waits for running requests, and closes the database too. */
  function dynalite(options?: DynaliteOptions): Server;
  export = dynalite;
}

declare module 'dynalite/db/index.js' {
  type Callback<T = void> = (error: Error | null, value?: T) => void;

  interface StoredTable {
    TableStatus?: string;
    GlobalSecondaryIndexes?: { IndexStatus?: string }[];
  }

  /** One change of LevelDB. */
  interface Write {
    readonly type: 'put' | 'del';
    readonly key: string;
    readonly value?: unknown;
  }

  /** All tables share it, by prefixes of their keys. Its methods may be replaced: the tables look them up at each call. */
  interface Level {
    open(): Promise<void>;
    close(): Promise<void>;
    put(key: string, value: unknown, callback: Callback): void;
    del(key: string, callback: Callback): void;
    batch(writes: readonly Write[], callback: Callback): void;
  }

  /** The items of a table, or the entries of an index. */
  interface Items {
    get(name: string, callback: Callback<StoredTable>): void;
    put(name: string, value: object, callback: Callback): void;
    del(name: string, callback: Callback): void;
  }

  interface DynaliteStore {
    readonly db: Level;
    readonly tableDb: Items;
    getIndexDb(indexType: string, tableName: string, indexName: string): Items;
    getItemDb(tableName: string): Items;
  }

  interface CreateOptions {
    path: string;
    createTableMs?: number;
  }

  export function create(options: CreateOptions): DynaliteStore;
}

declare module 'dynalite/validations/index.js' {
  /** Throws an {@link ApiError}. */
  export function checkTypes(input: unknown, types: unknown): object;
  /** Throws an {@link ApiError}. */
  export function checkValidations(input: object, types: unknown, custom: unknown, store: object): void;
}
