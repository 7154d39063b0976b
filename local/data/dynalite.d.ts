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
  interface StoredTable {
    TableStatus?: string;
    GlobalSecondaryIndexes?: { IndexStatus?: string }[];
  }
  interface DynaliteStore {
    db: { open(): Promise<void>; close(): Promise<void> };
    tableDb: {
      get(name: string, callback: (error: Error | null, table?: StoredTable) => void): void;
      put(name: string, table: StoredTable, callback: (error: Error | null) => void): void;
    };
  }

  export function create(options: { path: string }): DynaliteStore;
}
