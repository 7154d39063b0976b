import { managementDeps } from '../compose.ts';
import { auditOperations } from '../http/management/audit/operations.ts';
import { cleanupOperations } from '../http/management/cleanups/operations.ts';
import { countOperations } from '../http/management/counts/operations.ts';
import { deleteOperations } from '../http/management/deletes/operations.ts';
import { downloadOperations } from '../http/management/downloads/operations.ts';
import { exchangeOperations } from '../http/management/exchange/operations.ts';
import { exportOperations } from '../http/management/exports/operations.ts';
import { historyOperations } from '../http/management/history/operations.ts';
import { lockOperations } from '../http/management/locks/operations.ts';
import { objectOperations } from '../http/management/objects/operations.ts';
import type { AllOperations, ManagementDeps, Operation } from '../http/management/operation.ts';
import { repoOperations } from '../http/management/repos/operations.ts';
import { reservationOperations } from '../http/management/reservations/operations.ts';
import { sessionOperations } from '../http/management/sessions/operations.ts';
import { statusOperations } from '../http/management/status/operations.ts';
import { tenantOperations } from '../http/management/tenants/operations.ts';
import { tokenOperations } from '../http/management/tokens/operations.ts';
import { webhookOperations } from '../http/management/webhooks/operations.ts';
import { problem, respondProblem } from '../http/problems.ts';
import { deployed } from '../runtime/deployed.ts';
import { guard, type HttpHandler } from '../runtime/guard.ts';
import { warmUpTable } from '../runtime/warm-up.ts';
import type { Deps } from '../use-cases/deps.ts';

/** The type makes the compiler check that each route has its operation, and that what changes something is audited. */
export const operations: AllOperations = {
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
