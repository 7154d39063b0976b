import { ownFolders } from '../../lambda/core/store/rules/own-folders.ts';
import { byDueIndex, byKindIndex } from '../../lambda/core/table/table.ts';
import type { FunctionName } from '../../lambda/routes.ts';
import type { GaugedQueue } from '../../lambda/subjects/status/rules/status.ts';

/**
 * What a function is for, how long it may run and what it may touch. Its grants and its environment variables
 * follow from this alone. A list that is left out is empty.
 */
export interface FunctionSpec {
  readonly description: string;
  /** Undefined: the setting `reconcile.timeoutMinutes`. */
  readonly timeoutSeconds: number | undefined;
  /** Actions on the table. */
  readonly table?: readonly TableAction[];
  /** Actions on these partitions of the table, beside what {@link FunctionSpec.table} allows. */
  readonly items?: readonly ItemGrant[];
  /** Indexes that it may query. */
  readonly indexes?: readonly IndexName[];
  /** Actions on objects of tenants, never on the bucket itself. */
  readonly objects?: readonly ObjectAction[];
  /** ListBucket also lets a HEAD of an absent key answer 404. Without it S3 answers 403. */
  readonly bucket?: readonly BucketAction[];
  /** Actions on what the service stores beside objects, beside what {@link FunctionSpec.objects} allows. */
  readonly own?: Partial<Readonly<Record<OwnScope, readonly ObjectAction[]>>>;
  /** Knows how the stage makes exports, if it does. */
  readonly knowsExports?: true;
  readonly queues?: Partial<Readonly<Record<GaugedQueue, readonly QueueUse[]>>>;
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

export interface ItemGrant {
  readonly actions: readonly TableAction[];
  readonly partitions: readonly string[];
  /** Default: all. */
  readonly attributes?: readonly string[];
}

export type TableAction = 'GetItem' | 'BatchGetItem' | 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'Query';
type IndexName = typeof byKindIndex.name | typeof byDueIndex.name;
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

const exported = 'Exports have keys of their own, by tenant and export, and both come and go.';
const cleaned = 'Clean-ups have keys of their own, by tenant and watch, and both come and go.';

/** Keys of what the service stores beside objects, and why no narrower wildcard covers them. No tenant's name begins as they do. */
export const ownScopes = {
  archives: { below: `/${ownFolders.exports}/*`, why: exported },
  'export requests': { below: `/${ownFolders.exports}/*/*/work/request.json`, why: exported },
  'reachable sets': { below: `/${ownFolders.gc}/*/*/keep-*`, why: cleaned },
  candidates: { below: `/${ownFolders.gc}/*/*/*/candidates-*`, why: cleaned },
  chunks: {
    below: `/${ownFolders.parts}/*`,
    why: 'Chunks have keys of their own, by tenant, repo, object and upload, and all come and go.',
  },
} as const;
type OwnScope = keyof typeof ownScopes;

const readsObjects = { objects: ['GetObject'], bucket: ['ListBucket'] } as const;
const on = (partitions: readonly string[], ...actions: TableAction[]): ItemGrant => ({ partitions, actions });
const queues = (uses: readonly QueueUse[], ...names: GaugedQueue[]) =>
  Object.fromEntries(names.map((name) => [name, uses]));

/** What it corrects while somebody waits. */
const counts = ['TENANT#*', 'SHARDS#*', 'HISTORY#*', 'ALERT#*'];
/** Notes that a token was used: no token is made, and none gets other rights. */
const tokenUse: ItemGrant = { ...on(['TOKEN#*'], 'UpdateItem'), attributes: ['pk', 'sk', 'lastUsedAtMs'] };
/** The repositories of git hosts that users are let in by. */
const links = ['MAPPED#*', 'LINK#*', 'PINNED#*'];
/** What a batch notes of what it offers. */
const offers = ['SEEN#*', 'UPLOAD#*', 'COPY#*', 'DOWNLOADS#*', 'PUBLIC#*', 'GRANT#*'];
const signIns = ['LOGIN#*', 'TOKEN#*', 'REQUEST#*', 'INVITATION#*', 'DEVICE#*', 'AUDIT#*'];

/**
 * The one place of grants. docs/security.md shows them, and a test compares it with the templates. The black-box tests run under
 * those on the table (test/support/table-grants.ts), because no emulator knows partitions.
 */
export const functionSpecs: Readonly<Record<FunctionName, FunctionSpec>> = {
  console: { description: 'Answers the files of the console.', timeoutSeconds: 5, servesConsole: true },
  health: { description: 'Answers health checks.', timeoutSeconds: 5 },
  notFound: { description: 'Answers requests that match no route.', timeoutSeconds: 5 },
  lfsBatch: {
    description: 'Git LFS batch API: admits uploads within the limit and presigns URLs.',
    timeoutSeconds: 25,
    table: ['GetItem', 'Query', 'BatchGetItem'],
    items: [on([...counts, ...offers, ...links], 'UpdateItem', 'DeleteItem', 'PutItem'), tokenUse],
    objects: ['GetObject', 'PutObject'],
    bucket: ['ListBucket'],
    queues: { reconciles: ['send'], copies: ['send'] },
    secrets: ['CDN key'],
    answersLinks: true,
  },
  lfsVerify: {
    description: 'Git LFS verify: checks whether an upload arrived in the store.',
    timeoutSeconds: 25,
    table: ['GetItem'],
    ...readsObjects,
    queues: { reconciles: ['send'] },
  },
  lfsChunks: {
    description: 'Chunked uploads: shows their progress, presigns URLs of chunks and queues proofs.',
    timeoutSeconds: 25,
    items: [on(['UPLOAD#*'], 'GetItem', 'Query', 'UpdateItem'), on(['TOKEN#*'], 'GetItem')],
    own: { chunks: ['PutObject'] },
    bucket: ['ListBucket'],
    queues: { chunks: ['send'] },
  },
  lfsLocks: {
    description: 'Git LFS file locking: takes, lists and releases locks.',
    timeoutSeconds: 25,
    table: ['GetItem', 'Query'],
    items: [
      on(['LOCKS#*'], 'PutItem', 'DeleteItem'),
      on(['AUDIT#*', 'GRANT#*'], 'PutItem'),
      // The last release puts them.
      on(links, 'PutItem', 'UpdateItem'),
      tokenUse,
    ],
  },
  getSubscription: {
    description: "Answers a tenant's limit and usage.",
    timeoutSeconds: 29,
    table: ['GetItem', 'Query'],
    items: [on(counts, 'UpdateItem', 'DeleteItem'), tokenUse],
    ...readsObjects,
    queues: { reconciles: ['send'] },
    secrets: ['admin token'],
  },
  exchangeToken: {
    description: 'Gives CI jobs short-lived tokens for the identity that their host vouches for.',
    timeoutSeconds: 15,
    table: ['GetItem', 'Query'],
    items: [on(['TOKEN#*', 'REQUEST#*', 'AUDIT#*'], 'PutItem', 'UpdateItem')],
    answersLinks: true,
  },
  signIn: {
    description: 'Signs users in: by git hosts, invitations, and for command lines.',
    timeoutSeconds: 29,
    table: ['GetItem', 'BatchGetItem', 'Query'],
    items: [on(signIns, 'PutItem', 'UpdateItem'), on(['LOGIN#*', 'TOKEN#*'], 'DeleteItem')],
    secrets: ['sign-in apps'],
    answersLinks: true,
  },
  management: {
    description: 'Manages tenants, limits, tokens, exports and deletions.',
    timeoutSeconds: 29,
    table: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    indexes: [byKindIndex.name, byDueIndex.name],
    ...readsObjects,
    own: { 'export requests': ['PutObject'], 'reachable sets': ['PutObject'] },
    knowsExports: true,
    queues: {
      ...queues(['send', 'gauge'], 'reconciles', 'webhooks', 'emails', 'exports'),
      ...queues(['gauge'], 'chunks', 'copies', 'store-events'),
    },
    secrets: ['admin token'],
    answersLinks: true,
  },
  reconcile: {
    description: 'Recounts a tenant by listing the store, deletes what is due, and cleans up.',
    timeoutSeconds: undefined,
    table: ['GetItem', 'Query', 'UpdateItem', 'DeleteItem', 'PutItem'],
    objects: ['GetObject', 'DeleteObject'],
    bucket: ['ListBucket'],
    own: { candidates: ['PutObject'] },
    queues: { reconciles: ['send', 'receive', 'delay'] },
  },
  refresh: {
    description:
      'Queues reconciles of the tenants that are due, and steps of exports and chunked uploads that nothing moves. Sends warnings.',
    timeoutSeconds: 300,
    table: ['GetItem', 'BatchGetItem', 'Query'],
    items: [on(['SCHEDULE'], 'PutItem'), on(['ALERT#*', 'EMAIL#*'], 'UpdateItem')],
    indexes: [byDueIndex.name, byKindIndex.name],
    knowsExports: true,
    queues: queues(['send'], 'reconciles', 'webhooks', 'emails', 'exports', 'chunks'),
    publishesEvents: true,
  },
  sendWebhook: {
    description:
      'Sends warnings to the addresses that tenants gave. It reaches the internet, and of the table its own items.',
    timeoutSeconds: 30,
    items: [on(['WEBHOOK#*'], 'GetItem', 'UpdateItem')],
    queues: { webhooks: ['receive', 'delay'] },
  },
  sendEmail: {
    description: 'E-mails alerts. It reaches SES, and of the table its own items.',
    timeoutSeconds: 60,
    items: [on(['EMAIL#*'], 'GetItem', 'UpdateItem')],
    queues: { emails: ['receive', 'delay'] },
    sendsEmail: true,
  },
  exportArchive: {
    description: 'Makes the archives of exports, and removes what is left of them.',
    timeoutSeconds: 300,
    items: [
      on(['EXPORTS#*'], 'GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'),
      on(['FAILURES'], 'GetItem', 'PutItem', 'UpdateItem'),
    ],
    objects: ['GetObject'],
    bucket: ['ListBucket', 'ListBucketMultipartUploads'],
    own: { archives: ['PutObject', 'DeleteObject', 'AbortMultipartUpload', 'ListMultipartUploadParts'] },
    knowsExports: true,
    queues: { exports: ['send', 'receive', 'delay'] },
  },
  assembleUpload: {
    description: 'Reads the chunks of large uploads, assembles them, and removes what is left of them.',
    timeoutSeconds: 900,
    table: ['GetItem'],
    items: [on(['UPLOAD#*'], 'Query', 'PutItem', 'DeleteItem'), on(['UPLOAD#*', 'TENANT#*'], 'UpdateItem')],
    objects: ['GetObject', 'PutObject', 'AbortMultipartUpload', 'ListMultipartUploadParts'],
    own: { chunks: ['DeleteObject'] },
    bucket: ['ListBucket'],
    queues: { reconciles: ['send'], chunks: ['send', 'receive', 'delay'] },
  },
  storeEvents: {
    description: 'Records what changed in the bucket, and queues reconciles.',
    timeoutSeconds: 60,
    table: ['GetItem', 'Query'],
    items: [on(['TENANT#*'], 'PutItem')],
    queues: { reconciles: ['send'], 'store-events': ['receive'] },
  },
  copyObject: {
    description:
      'Copies objects from other servers by signed URLs. It reaches the internet, and of the table its own items.',
    timeoutSeconds: 900,
    items: [on(['COPY#*'], 'UpdateItem', 'DeleteItem')],
    queues: { copies: ['receive', 'delay'] },
  },
};
