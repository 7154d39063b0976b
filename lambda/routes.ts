/**
 * The one table of HTTP routes: `lib/` deploys it as API Gateway routes, `local/` serves it.
 *
 * A segment is a literal or one whole variable: API Gateway refuses `{repo}.git` (an emulator takes it).
 */
export const routes = [
  { method: 'GET', path: '/', function: 'console' },
  { method: 'GET', path: '/assets/{file}', function: 'console' },
  { method: 'GET', path: '/health', function: 'health' },
  { method: 'GET', path: '/openapi.json', function: 'signIn' },
  { method: 'POST', path: '/{tenant}/{repo}/info/lfs/objects/batch', function: 'lfsBatch' },
  { method: 'POST', path: '/{tenant}/{repo}/info/lfs/objects/copies', function: 'lfsBatch' },
  { method: 'POST', path: '/{tenant}/{repo}/info/lfs/verify', function: 'lfsVerify' },
  { method: 'GET', path: '/{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}', function: 'lfsChunks' },
  { method: 'POST', path: '/{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}', function: 'lfsChunks' },
  { method: 'POST', path: '/{tenant}/{repo}/info/lfs/locks', function: 'lfsLocks' },
  { method: 'GET', path: '/{tenant}/{repo}/info/lfs/locks', function: 'lfsLocks' },
  { method: 'POST', path: '/{tenant}/{repo}/info/lfs/locks/verify', function: 'lfsLocks' },
  { method: 'POST', path: '/{tenant}/{repo}/info/lfs/locks/{lockId}/unlock', function: 'lfsLocks' },
  { method: 'GET', path: '/v1/tenants/{tenant}/subscription', function: 'getSubscription' },
  { method: 'GET', path: '/v1/session', function: 'management' },
  { method: 'POST', path: '/v1/session', function: 'management' },
  { method: 'DELETE', path: '/v1/session', function: 'management' },
  { method: 'GET', path: '/sign-in/{host}', function: 'console' },
  { method: 'GET', path: '/v1/sign-in', function: 'management' },
  { method: 'POST', path: '/v1/sign-in', function: 'signIn' },
  { method: 'POST', path: '/v1/sign-in/finish', function: 'signIn' },
  { method: 'GET', path: '/v1/status', function: 'management' },
  { method: 'GET', path: '/v1/tenants', function: 'management' },
  { method: 'POST', path: '/v1/tenants', function: 'management' },
  { method: 'GET', path: '/v1/lost-tenants', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}', function: 'management' },
  { method: 'PATCH', path: '/v1/tenants/{tenant}', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/git-host', function: 'management' },
  { method: 'PUT', path: '/v1/tenants/{tenant}/git-host', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/git-host', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/tokens', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/tokens', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/tokens/{tokenId}', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/tokens/{tokenId}', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/invitations', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/invitations', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/invitations/{invitationId}', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/device', function: 'management' },
  { method: 'POST', path: '/v1/invitations/accept', function: 'signIn' },
  { method: 'POST', path: '/v1/device', function: 'signIn' },
  { method: 'POST', path: '/v1/tenants/{tenant}/exchange', function: 'exchangeToken' },
  { method: 'GET', path: '/v1/tenants/{tenant}/exchange-rules', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/exchange-rules', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/exchange-rules/{ruleId}', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/users', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/users/{userId}', function: 'management' },
  { method: 'PUT', path: '/v1/tenants/{tenant}/organizations', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/organizations', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/reservations', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/reconcile', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/scans', function: 'management' },
  { method: 'PATCH', path: '/v1/tenants/{tenant}/repos/{repo}/scan', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/exports', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/exports', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/exports/{exportId}', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/exports/{exportId}', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/downloads', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/audit', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/history', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/webhook', function: 'management' },
  { method: 'PUT', path: '/v1/tenants/{tenant}/webhook', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/webhook', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/webhook/test', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/emails', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/emails', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/emails', function: 'management' },
  { method: 'POST', path: '/v1/emails/confirm', function: 'management' },
  { method: 'POST', path: '/v1/emails/unsubscribe', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/objects', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/deletions', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/repos', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/repos', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/repos/{repo}', function: 'management' },
  { method: 'PATCH', path: '/v1/tenants/{tenant}/repos/{repo}', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/repos/{repo}', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/reservations', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/repos/{repo}/objects/{oid}', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/repos/{repo}/gc', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/repos/{repo}/gc', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/repos/{repo}/gc', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/repos/{repo}/gc/reachable-set', function: 'management' },
  { method: 'POST', path: '/v1/tenants/{tenant}/repos/{repo}/gc/run', function: 'management' },
  { method: 'GET', path: '/v1/tenants/{tenant}/repos/{repo}/locks', function: 'management' },
  { method: 'DELETE', path: '/v1/tenants/{tenant}/repos/{repo}/locks', function: 'management' },
] as const;

type AnyRoute = (typeof routes)[number];

/** `METHOD /path`, as API Gateway names a route. */
export type RouteKey<F extends AnyRoute['function'] = AnyRoute['function']> =
  Extract<AnyRoute, { function: F }> extends infer R
    ? R extends AnyRoute
      ? `${R['method']} ${R['path']}`
      : never
    : never;

export interface Route {
  readonly method: AnyRoute['method'];
  readonly path: string;
  readonly function: HttpFunction;
}

export const routeKeys = routes.map(({ method, path }) => `${method} ${path}` as RouteKey);

/** What matches no route is answered by this function, as API Gateway's `$default` route. */
export const defaultRouteFunction = 'notFound';

export type HttpFunction = AnyRoute['function'] | typeof defaultRouteFunction;

/**
 * Functions without a route: the queue's consumer, the schedule's target, what sends to webhooks, the workers of chunked
 * uploads and, if the stage has them, what sends e-mails, the workers of exports, the store's consumer, and what copies from
 * git hosts.
 */
type BackgroundFunction =
  | 'reconcile'
  | 'refresh'
  | 'sendWebhook'
  | 'sendEmail'
  | 'exportArchive'
  | 'assembleUpload'
  | 'storeEvents'
  | 'copyObject';

export type FunctionName = HttpFunction | BackgroundFunction;

/** File of each function below `lambda/functions/`. It exports `handler`. */
export const handlerFiles: Readonly<Record<FunctionName, string>> = {
  console: 'console.ts',
  health: 'health.ts',
  lfsBatch: 'lfs-batch.ts',
  lfsVerify: 'lfs-verify.ts',
  lfsChunks: 'chunks/lfs-chunks.ts',
  lfsLocks: 'locks/lfs-locks.ts',
  getSubscription: 'get-subscription.ts',
  exchangeToken: 'ci/exchange-token.ts',
  signIn: 'sign-in.ts',
  management: 'management.ts',
  notFound: 'not-found.ts',
  reconcile: 'reconcile.ts',
  refresh: 'refresh.ts',
  sendWebhook: 'alerts/send-webhook.ts',
  sendEmail: 'alerts/send-email.ts',
  exportArchive: 'exports/export-archive.ts',
  assembleUpload: 'chunks/assemble-upload.ts',
  storeEvents: 'store-events.ts',
  copyObject: 'downloads/copy-object.ts',
};
