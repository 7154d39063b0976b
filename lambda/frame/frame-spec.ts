import { counts, type FunctionSpec, on, type Role, readsObjects, type Spec, tokenUse } from './spec.ts';

/** The functions that subjects share, and what these do without any. */
export const frame = {
  functions: {
    console: {
      file: 'console.ts',
      description: 'Answers the files of the console.',
      routes: ['GET /', 'GET /assets/{file}', 'GET /sign-in/{host}'],
      timeoutSeconds: 5,
      memoryMb: 256,
      servesConsole: true,
    },
    health: {
      file: 'health.ts',
      description: 'Answers health checks.',
      routes: ['GET /health'],
      timeoutSeconds: 5,
      memoryMb: 128,
    },
    getSubscription: {
      file: 'get-subscription.ts',
      description: "Answers a tenant's limit and usage.",
      routes: ['GET /v1/tenants/{tenant}/subscription'],
      timeoutSeconds: 29,
      // 512 is too slow for a miss of 17,000 objects.
      memoryMb: 1_024,
      table: ['GetItem', 'Query'],
      items: [counts('TENANT#*', 'SHARDS#*'), tokenUse],
      ...readsObjects,
      queues: { reconciles: ['send'] },
      secrets: ['admin token'],
    },
    signIn: {
      file: 'sign-in.ts',
      description: 'Signs users in: by git hosts, invitations, and for command lines.',
      routes: ['GET /openapi.json'],
      timeoutSeconds: 29,
      memoryMb: 512,
      table: ['GetItem', 'BatchGetItem', 'Query'],
      items: [
        on(['TOKEN#*', 'REQUEST#*', 'AUDIT#*'], 'PutItem', 'UpdateItem'),
        on(['TOKEN#*'], 'DeleteItem'),
      ],
      answersLinks: true,
    },
    management: {
      file: 'management.ts',
      description: 'Manages tenants, limits, tokens, exports and deletions.',
      routes: [
        'GET /v1/session',
        'POST /v1/session',
        'DELETE /v1/session',
        'GET /v1/tenants',
        'POST /v1/tenants',
        'GET /v1/lost-tenants',
        'GET /v1/tenants/{tenant}',
        'PATCH /v1/tenants/{tenant}',
        'DELETE /v1/tenants/{tenant}',
        'GET /v1/tenants/{tenant}/tokens',
        'POST /v1/tenants/{tenant}/tokens',
        'GET /v1/tenants/{tenant}/tokens/{tokenId}',
        'DELETE /v1/tenants/{tenant}/tokens/{tokenId}',
        'GET /v1/tenants/{tenant}/reservations',
        'DELETE /v1/tenants/{tenant}/reservations',
        'POST /v1/tenants/{tenant}/reconcile',
        'GET /v1/tenants/{tenant}/scans',
        'PATCH /v1/tenants/{tenant}/repos/{repo}/scan',
        'GET /v1/tenants/{tenant}/audit',
        'GET /v1/tenants/{tenant}/objects',
        'GET /v1/tenants/{tenant}/deletions',
        'GET /v1/tenants/{tenant}/repos',
        'POST /v1/tenants/{tenant}/repos',
        'GET /v1/tenants/{tenant}/repos/{repo}',
        'PATCH /v1/tenants/{tenant}/repos/{repo}',
        'DELETE /v1/tenants/{tenant}/repos/{repo}',
        'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}',
        'POST /v1/tenants/{tenant}/repos/{repo}/objects/{oid}/keep',
      ],
      timeoutSeconds: 29,
      // 256 is too slow for a list of 100 tenants.
      memoryMb: 512,
      table: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
      indexes: ['by-kind', 'by-due'],
      ...readsObjects,
      queues: { reconciles: ['send', 'gauge'], 'store-events': ['gauge'] },
      secrets: ['admin token'],
      answersLinks: true,
    },
    /** What matches no route is answered by this function, as API Gateway's `$default` route. */
    notFound: {
      file: 'not-found.ts',
      description: 'Answers requests that match no route.',
      timeoutSeconds: 5,
      memoryMb: 128,
    },
    reconcile: {
      file: 'reconcile.ts',
      description:
        'Reconciles a tenant by listing the store, deletes what is due, and advances garbage collection.',
      timeoutSeconds: undefined,
      // A million open entries take 389 MB.
      memoryMb: 512,
      table: ['GetItem', 'Query', 'UpdateItem', 'DeleteItem', 'PutItem'],
      // It puts empty objects in the place of deleted files, whose URLs then store nothing.
      objects: ['GetObject', 'PutObject', 'DeleteObject'],
      notAdopted: ['PutObject'],
      bucket: ['ListBucket'],
      queues: { reconciles: ['send', 'receive', 'delay'] },
    },
    refresh: {
      file: 'refresh.ts',
      description:
        'Queues reconciles of the tenants that are due, and steps of exports and chunked uploads that nothing moves. Sends warnings.',
      timeoutSeconds: 300,
      memoryMb: 256,
      table: ['GetItem', 'BatchGetItem', 'Query'],
      items: [on(['SCHEDULE'], 'PutItem')],
      indexes: ['by-due', 'by-kind'],
      queues: { reconciles: ['send'] },
    },
    storeEvents: {
      file: 'store-events.ts',
      description: 'Records what changed in the bucket, and queues reconciles.',
      timeoutSeconds: 60,
      memoryMb: 256,
      table: ['GetItem', 'Query'],
      items: [on(['TENANT#*'], 'PutItem')],
      queues: { reconciles: ['send'], 'store-events': ['receive'] },
    },
  },
  queues: {
    reconciles: { kind: '', workersIn: 'reconcile.concurrency', usualWorkers: 5 },
    // More would look up and record the same tenants in parallel.
    'store-events': {
      kind: 'StoreEvents',
      onlyWith: 'storeEvents',
      lost: "Events of the store couldn't be recorded. The next full scan finds the changes.",
      graphs: { title: 'Store events', done: 'processed', label: 'events', one: 'store event' },
    },
  },
} as const satisfies Spec;

/** What a subject has for a deployment, as data: its functions, routes, grants and queues follow from this alone. */
export interface SubjectSpec<Others extends string = never> extends Spec {
  /** What it adds to functions of the frame, of a subject that it needs, or of a role: their routes for it, and what they may do for it. */
  readonly adds?: Readonly<
    Partial<Record<keyof typeof frame.functions | Others | Role, Partial<FunctionSpec>>>
  >;
}
