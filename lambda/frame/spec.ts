import type { byDueIndex, byKindIndex } from '../core/table/table.ts';
import type { AnyRouteKey } from './api/route-match.ts';

export interface Spec {
  readonly functions?: Readonly<Record<string, FunctionSpec>>;
  readonly ownScopes?: Readonly<Record<string, OwnScope>>;
  readonly queues?: Readonly<Record<string, QueueSpec>>;
}

/**
 * What a function is for, how long it may run and what it may touch. Its grants and its environment variables
 * follow from this alone. A list that is left out is empty.
 */
export interface FunctionSpec {
  /** Below `lambda/functions/`. It exports `handler`. */
  readonly file: string;
  readonly description: string;
  /**
   * Those that lead to it. Without any, no request waits for it. A segment is a literal or one whole variable: API Gateway refuses
   * `{repo}.git` (an emulator takes it).
   */
  readonly routes?: readonly AnyRouteKey[];
  /** Roles that it has for subjects: what these add to all with the role. */
  readonly does?: readonly Role[];
  /** Undefined: the setting `reconcile.timeoutMinutes`. */
  readonly timeoutSeconds: number | undefined;
  /** Unless a setting says otherwise. docs/decisions.md has the rule. */
  readonly memoryMb: number;
  /** A new version gets a tenth of its requests first, in a stage with a canary. */
  readonly isTried?: true;
  /** What its runs are for, if a stage can reserve some. */
  readonly reservedFor?: string;
  /** The alarm for one in a hundred of its runs that takes long. */
  readonly slow?: { readonly id: string; readonly says: string };
  /** Actions on the table. */
  readonly table?: readonly TableAction[];
  /** Actions on these partitions of the table, beside what {@link FunctionSpec.table} allows. */
  readonly items?: readonly ItemGrant[];
  /** Indexes that it may query. */
  readonly indexes?: readonly IndexName[];
  /** Actions on objects of tenants, never on the bucket itself. */
  readonly objects?: readonly ObjectAction[];
  /** Of these, what it doesn't do to adopted repos. */
  readonly notAdopted?: readonly ObjectAction[];
  /** ListBucket also lets a HEAD of an absent key answer 404. Without it S3 answers 403. */
  readonly bucket?: readonly BucketAction[];
  /** Actions on what the service stores beside objects, beside what {@link FunctionSpec.objects} allows, by own scope. */
  readonly own?: Readonly<Record<string, readonly ObjectAction[]>>;
  /** It reaches the store only in a stage with this setting. */
  readonly storeOnlyWith?: string;
  /** Knows how the stage makes exports, if it does. */
  readonly knowsExports?: true;
  /** What it does with queues, by their names. */
  readonly queues?: Readonly<Record<string, readonly QueueUse[]>>;
  readonly secrets?: readonly ('admin token' | 'sign-in apps' | 'CDN key')[];
  /** Publishes alerts to the account's event bus, if the stage does. */
  readonly publishesEvents?: true;
  /** Sends e-mails, if the stage does. */
  readonly sendsEmail?: true;
  /** Has the packed files of the console beside its bundle. */
  readonly servesConsole?: true;
  /** Answers links to the API itself. */
  readonly answersLinks?: true;
}

/** What several functions do: admit uploads, offer downloads, and ask for users where they log in beside tokens. */
export type Role = 'admits' | 'offers' | 'asks for users';

export interface ItemGrant {
  readonly actions: readonly TableAction[];
  readonly partitions: readonly string[];
  /** Default: all. */
  readonly attributes?: readonly string[];
}

export type TableAction = 'GetItem' | 'BatchGetItem' | 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'Query';
type IndexName = (typeof byKindIndex | typeof byDueIndex)['name'];
export type ObjectAction =
  | 'GetObject'
  | 'PutObject'
  | 'DeleteObject'
  | 'AbortMultipartUpload'
  | 'ListMultipartUploadParts';
type BucketAction = 'ListBucket' | 'ListBucketMultipartUploads';
/**
 * `receive` is what Lambda's pollers do in the function's name. `delay` chooses when a failed message is redelivered. `gauge` asks
 * how many messages it has, and how many its dead letters are.
 */
export type QueueUse = 'send' | 'receive' | 'delay' | 'gauge';

/** Keys of what the service stores beside objects, and why no narrower wildcard covers them. No tenant's name begins as they do. */
export interface OwnScope {
  readonly below: string;
  readonly why: string;
}

export interface QueueSpec {
  /** In the names of its alarms, of the output with the URL of its dead letters, and of the variable with its own. */
  readonly kind: string;
  /** The setting of a stage with how many functions receive from it, by its path. 0: the stage hasn't the queue. */
  readonly workersIn?: string;
  /** What these do, if the setting is in no section. */
  readonly workersDo?: string;
  /** The setting that a stage with this queue has. */
  readonly onlyWith?: string;
  /** The same in an account with the usual concurrency. Undefined: as few as Lambda can run. */
  readonly usualWorkers?: number;
  /** By default twenty times six minutes: outlasts two hours without store or table. */
  readonly attemptsMax?: number;
  /** Its messages are sent on, so one that may still be in work stays hidden. Else it comes back a minute after the longest run. */
  readonly isSent?: true;
  /** What its dead letters mean. Of reconciles, the basic alarms tell. */
  readonly lost?: string;
  /** How much longer than others its messages may wait, times. */
  readonly isLaterBy?: number;
  /** A row of the dashboard. */
  readonly graphs?: Readonly<Record<'title' | 'done' | 'label' | 'one', string>>;
}

export const on = (partitions: readonly string[], ...actions: TableAction[]): ItemGrant => ({
  partitions,
  actions,
});

export const readsObjects = { objects: ['GetObject'], bucket: ['ListBucket'] } as const;

/** Notes that a token was used: no token is made, and none gets other rights. */
export const tokenUse: ItemGrant = {
  ...on(['TOKEN#*'], 'UpdateItem'),
  attributes: ['pk', 'sk', 'lastUsedAtMs'],
};

/** What a batch writes. */
export const pushes = (...partitions: string[]) => on(partitions, 'UpdateItem', 'DeleteItem', 'PutItem');
/** What whoever asks for usage corrects. */
export const counts = (...partitions: string[]) => on(partitions, 'UpdateItem', 'DeleteItem');
