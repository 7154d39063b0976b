/**
 * The one table of HTTP routes: `lib/` deploys it as API Gateway routes, `local/` serves it.
 *
 * A segment is a literal or one whole variable: API Gateway refuses `{repo}.git` (an emulator takes it).
 */
export type HttpFunction =
  | 'health'
  | 'lfsBatch'
  | 'lfsVerify'
  | 'getSubscription'
  | 'management'
  | 'notFound';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly function: HttpFunction;
}

export const routes: readonly Route[] = [
  { method: 'GET', path: '/health', function: 'health' },
  { method: 'POST', path: '/{tenant}/{repo}/info/lfs/objects/batch', function: 'lfsBatch' },
  { method: 'POST', path: '/{tenant}/{repo}/info/lfs/verify', function: 'lfsVerify' },
  { method: 'GET', path: '/v1/tenants/{tenant}/subscription', function: 'getSubscription' },
  { method: 'GET', path: '/v1/tenants', function: 'management' },
  { method: 'POST', path: '/v1/tenants', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}', function: 'management' },
  { method: 'PATCH', path: '/v1/tenants/{tenant}', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/tokens', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/tokens', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/tokens/{tokenId}', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/reconcile', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/repos', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/repos/{repo}', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/repos/{repo}/objects/{oid}', function: 'management' },
];

/** What matches no route is answered by this function, as API Gateway's `$default` route. */
export const defaultRouteFunction: HttpFunction = 'notFound';

/** Functions that no route leads to: the queue's consumer, the schedule's target and, where the stage has it, the store's. */
export type BackgroundFunction = 'reconcile' | 'refresh' | 'storeEvents';

export type FunctionName = HttpFunction | BackgroundFunction;

/** File below `lambda/handlers/` of each function; it exports `handler` (deployed) and `create` (for tests and `local/`). */
export const handlerFiles: Readonly<Record<FunctionName, string>> = {
  health: 'health.ts',
  lfsBatch: 'lfs-batch.ts',
  lfsVerify: 'lfs-verify.ts',
  getSubscription: 'get-subscription.ts',
  management: 'management.ts',
  notFound: 'not-found.ts',
  reconcile: 'reconcile.ts',
  refresh: 'refresh.ts',
  storeEvents: 'store-events.ts',
};
