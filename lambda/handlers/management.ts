import { historyOperations } from '../api/management/history.ts';
import { lockOperations } from '../api/management/locks.ts';
import type { ManagementDeps, Operation } from '../api/management/operations.ts';
import { problem, respondProblem } from '../api/problems.ts';
import { managementDeps } from '../compose.ts';
import { auditOperations } from '../http/management/audit/operations.ts';
import { cleanupOperations } from '../http/management/cleanups/operations.ts';
import { countOperations } from '../http/management/counts/operations.ts';
import { deleteOperations } from '../http/management/deletes/operations.ts';
import { downloadOperations } from '../http/management/downloads/operations.ts';
import { exchangeOperations } from '../http/management/exchange/operations.ts';
import { exportOperations } from '../http/management/exports/operations.ts';
import { objectOperations } from '../http/management/objects/operations.ts';
import { repoOperations } from '../http/management/repos/operations.ts';
import { reservationOperations } from '../http/management/reservations/operations.ts';
import { sessionOperations } from '../http/management/sessions/operations.ts';
import { statusOperations } from '../http/management/status/operations.ts';
import { tenantOperations } from '../http/management/tenants/operations.ts';
import { tokenOperations } from '../http/management/tokens/operations.ts';
import { webhookOperations } from '../http/management/webhooks/operations.ts';
import type { RouteKey } from '../routes.ts';
import { deployed } from '../runtime/deployed.ts';
import { guard, type HttpHandler } from '../runtime/guard.ts';
import { warmUpTable } from '../runtime/warm-up.ts';
import type { Deps } from '../use-cases/deps.ts';

/** The type makes the compiler check that each route has its operation. */
const operations: Readonly<Record<RouteKey<'management'>, Operation>> = {
  ...sessionOperations,
  ...statusOperations,
  ...tenantOperations,
  ...tokenOperations,
  ...exchangeOperations,
  ...reservationOperations,
  ...objectOperations,
  ...downloadOperations,
  ...historyOperations,
  ...repoOperations,
  ...countOperations,
  ...deleteOperations,
  ...cleanupOperations,
  ...exportOperations,
  ...lockOperations,
  ...auditOperations,
  ...webhookOperations,
};

const byRouteKey: ReadonlyMap<string, Operation> = new Map(Object.entries(operations));

/** The operator's API. One function for all of it: it is asked rarely, and never in a hurry. */
export function create(deps: ManagementDeps & Pick<Deps, 'invocations'>): HttpHandler {
  return guard(deps, respondProblem, async (event) => {
    const operation = byRouteKey.get(event.routeKey);
    return operation ? operation(deps, event) : problem('not-found', 'There is no such route.');
  });
}

export const handler = await deployed(create, managementDeps, warmUpTable);
