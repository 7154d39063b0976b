import { managementDeps } from '../compositions/management.ts';
import type { FunctionPorts } from '../core/rules/clock-and-log.ts';
import { json } from '../frame/api/http.ts';
import { problem, respondProblem } from '../frame/api/problems.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { guard, type HttpHandler, warmUpTable } from '../frame/aws/function.ts';
import { auditOperations } from '../frame/management/audit.ts';
import { deleteOperations } from '../frame/management/deletes.ts';
import { objectOperations } from '../frame/management/objects.ts';
import type { Operation } from '../frame/management/operations.ts';
import { repoOperations } from '../frame/management/repos.ts';
import { reservationOperations } from '../frame/management/reservations.ts';
import { scanOperations } from '../frame/management/scans.ts';
import { sessionOperations } from '../frame/management/sessions.ts';
import { tenantOperations } from '../frame/management/tenants.ts';
import { tokenOperations } from '../frame/management/tokens.ts';
import type { RouteKey } from '../routes.ts';
import { emailLinkOperations, emailOperations } from '../subjects/alerts/email-routes.ts';
import { webhookOperations } from '../subjects/alerts/webhook-routes.ts';
import { exchangeOperations } from '../subjects/ci/routes.ts';
import { downloadOperations } from '../subjects/downloads/routes.ts';
import { exportOperations } from '../subjects/exports/routes.ts';
import { gcOperations } from '../subjects/gc/routes.ts';
import { historyOperations } from '../subjects/history/routes.ts';
import type { HostPorts } from '../subjects/hosts/ports.ts';
import { tenantLinkOperations } from '../subjects/hosts/routes.ts';
import { signInHostsOf, webUrlOf } from '../subjects/hosts/rules/git-hosts.ts';
import { invitationOperations } from '../subjects/invitations/routes.ts';
import { lockOperations } from '../subjects/locks/routes.ts';
import { userOperations } from '../subjects/sign-in/user-routes.ts';
import { statusOperations } from '../subjects/status/routes.ts';

/** Whom somebody can sign in with. It is for everybody, too. */
const listSignInHosts = async ({ gitHosts }: Pick<HostPorts, 'gitHosts'>) => {
  const hosts = signInHostsOf(gitHosts).map((host) => ({
    id: host.id,
    kind: host.kind,
    url: webUrlOf(host),
  }));
  return json(200, { hosts });
};

const operations = {
  'GET /v1/sign-in': listSignInHosts,
  ...sessionOperations,
  ...statusOperations,
  ...tenantOperations,
  ...tokenOperations,
  ...exchangeOperations,
  ...invitationOperations,
  ...userOperations,
  ...reservationOperations,
  ...objectOperations,
  ...downloadOperations,
  ...historyOperations,
  ...repoOperations,
  ...scanOperations,
  ...deleteOperations,
  ...gcOperations,
  ...exportOperations,
  ...lockOperations,
  ...auditOperations,
  ...tenantLinkOperations,
  ...webhookOperations,
  ...emailOperations,
  ...emailLinkOperations,
};

/** All that one of them needs. */
type Needs = Parameters<typeof listSignInHosts>[0] & UnionToIntersection<NeedsOf<typeof operations>>;
type NeedsOf<Operations> = {
  [K in keyof Operations]: Operations[K] extends Operation<infer D> ? D : never;
}[keyof Operations];
type UnionToIntersection<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void
  ? I
  : never;

/** The type makes the compiler check that each route has its operation. */
const all: Readonly<Record<RouteKey<'management'>, Operation<Needs>>> = operations;
const byRouteKey: ReadonlyMap<string, Operation<Needs>> = new Map(Object.entries(all));

/** The operator's API. One function for all of it: it is asked rarely, and never in a hurry. */
export function create(deps: Needs & FunctionPorts): HttpHandler {
  return guard(deps, respondProblem, async (event) => {
    const operation = byRouteKey.get(event.routeKey);
    return operation ? operation(deps, event) : problem('not-found', 'Route not found.');
  });
}

export const handler = await deployed(create, managementDeps, warmUpTable);
