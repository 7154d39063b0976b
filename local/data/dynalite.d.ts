/** What this project uses of dynalite 4, which ships no types. */
declare module 'dynalite' {
  import type { Server } from 'node:http';

  interface DynaliteOptions {
    /** Folder of the database; in memory without it. */
    path?: string;
    /** How long a new table is shown as CREATING. */
    createTableMs?: number;
  }

  /** `close` waits for what is under way, and closes the database too. */
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
