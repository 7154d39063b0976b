import { json } from '../api/http.ts';
import { auditOperations } from '../api/management/audit.ts';
import { deleteOperations } from '../api/management/deletes.ts';
import { downloadOperations } from '../api/management/downloads.ts';
import { emailLinkOperations, emailOperations } from '../api/management/emails.ts';
import { exchangeOperations } from '../api/management/exchange.ts';
import { exportOperations } from '../api/management/exports.ts';
import { gcOperations } from '../api/management/gc.ts';
import { historyOperations } from '../api/management/history.ts';
import { invitationOperations } from '../api/management/invitations.ts';
import { lockOperations } from '../api/management/locks.ts';
import { objectOperations } from '../api/management/objects.ts';
import type { Operation } from '../api/management/operations.ts';
import { repoOperations } from '../api/management/repos.ts';
import { reservationOperations } from '../api/management/reservations.ts';
import { scanOperations } from '../api/management/scans.ts';
import { sessionOperations } from '../api/management/sessions.ts';
import { statusOperations } from '../api/management/status.ts';
import { tenantLinkOperations } from '../api/management/tenant-links.ts';
import { tenantOperations } from '../api/management/tenants.ts';
import { tokenOperations } from '../api/management/tokens.ts';
import { userOperations } from '../api/management/users.ts';
import { webhookOperations } from '../api/management/webhooks.ts';
import { problem, respondProblem } from '../api/problems.ts';
import { deployed } from '../aws/deployed.ts';
import { guard, type HttpHandler, warmUpTable } from '../aws/function.ts';
import { managementDeps } from '../compositions/management.ts';
import type { HostPorts } from '../hosts/ports.ts';
import { signInHostsOf, webUrlOf } from '../hosts/rules/git-hosts.ts';
import type { RouteKey } from '../routes.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';

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
