import { byDueIndex, byKindIndex } from '../../lambda/adapters/dynamodb/table.ts';
import type { FunctionName } from '../../lambda/routes.ts';

type TableAction = 'GetItem' | 'BatchGetItem' | 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'Query';
export type ObjectAction = 'GetObject' | 'PutObject' | 'DeleteObject';

/** What a function may touch, and how long it may take. Its grants and its environment follow from it alone. */
export interface FunctionSpec {
  /** Undefined: as the setting says. */
  readonly timeoutSeconds: number | undefined;
  readonly table: readonly TableAction[];
  /** Indexes it may query. */
  readonly indexes: readonly (typeof byKindIndex.name | typeof byDueIndex.name)[];
  /** On objects of tenants, never on the bucket itself. */
  readonly objects: readonly ObjectAction[];
  /** s3:ListBucket: to count, and because a HEAD of an absent key answers 403 instead of 404 without it. */
  readonly listBucket: boolean;
  readonly sendsRecounts: boolean;
  /** What Lambda's pollers do in the function's name, and to say when a message that failed comes again. */
  readonly takesRecounts: boolean;
  /** What Lambda's pollers do in its name on the queue of the store's events. */
  readonly takesStoreEvents: boolean;
  readonly readsAdminToken: boolean;
}

const nothing: FunctionSpec = {
  timeoutSeconds: 5,
  table: [],
  indexes: [],
  objects: [],
  listBucket: false,
  sendsRecounts: false,
  takesRecounts: false,
  takesStoreEvents: false,
  readsAdminToken: false,
};

/** What a recount reads, corrects and clears away. */
const recount = ['GetItem', 'Query', 'UpdateItem', 'DeleteItem'] as const;

/** docs/security.md shows the grants that come of this; a test compares the two with the templates. */
export const functionSpecs: Readonly<Record<FunctionName, FunctionSpec>> = {
  health: nothing,
  notFound: nothing,
  lfsBatch: {
    ...nothing,
    timeoutSeconds: 25,
    table: [...recount, 'PutItem'],
    objects: ['GetObject', 'PutObject'],
    listBucket: true,
    sendsRecounts: true,
  },
  lfsVerify: {
    ...nothing,
    timeoutSeconds: 25,
    table: ['GetItem'],
    objects: ['GetObject'],
    listBucket: true,
    sendsRecounts: true,
  },
  getSubscription: {
    ...nothing,
    timeoutSeconds: 29,
    table: recount,
    listBucket: true,
    sendsRecounts: true,
    readsAdminToken: true,
  },
  management: {
    ...nothing,
    timeoutSeconds: 29,
    table: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    indexes: [byKindIndex.name],
    objects: ['GetObject'],
    listBucket: true,
    sendsRecounts: true,
    readsAdminToken: true,
  },
  reconcile: {
    ...nothing,
    timeoutSeconds: undefined,
    table: [...recount, 'PutItem'],
    objects: ['DeleteObject'],
    listBucket: true,
    sendsRecounts: true,
    takesRecounts: true,
  },
  refresh: {
    ...nothing,
    timeoutSeconds: 300,
    indexes: [byDueIndex.name],
    sendsRecounts: true,
  },
  storeEvents: {
    ...nothing,
    timeoutSeconds: 60,
    table: ['GetItem', 'Query', 'PutItem'],
    sendsRecounts: true,
    takesStoreEvents: true,
  },
};
