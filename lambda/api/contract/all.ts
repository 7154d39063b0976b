import { auditDocs } from '../../http/management/audit/docs.ts';
import { cleanupDocs } from '../../http/management/cleanups/docs.ts';
import { countDocs } from '../../http/management/counts/docs.ts';
import { deleteDocs } from '../../http/management/deletes/docs.ts';
import { downloadDocs } from '../../http/management/downloads/docs.ts';
import { exchangeDocs } from '../../http/management/exchange/docs.ts';
import { exportDocs } from '../../http/management/exports/docs.ts';
import { objectDocs } from '../../http/management/objects/docs.ts';
import { repoDocs } from '../../http/management/repos/docs.ts';
import { reservationDocs } from '../../http/management/reservations/docs.ts';
import { sessionDocs } from '../../http/management/sessions/docs.ts';
import { statusDocs } from '../../http/management/status/docs.ts';
import { tenantDocs } from '../../http/management/tenants/docs.ts';
import { tokenDocs } from '../../http/management/tokens/docs.ts';
import { webhookDocs } from '../../http/management/webhooks/docs.ts';
import type { RouteKey } from '../../routes.ts';
import type { RouteContract } from './contract.ts';
import { historyContract } from './history.ts';
import { lfsOperations, lockOperationDocs } from './lfs.ts';
import { lockContract } from './locks.ts';
import { serviceOperations } from './service.ts';

/** Every route with all that is said of it. The compiler lets none be missing. */
export const contract = {
  ...serviceOperations,
  ...lfsOperations,
  ...lockOperationDocs,
  ...sessionDocs,
  ...statusDocs,
  ...tenantDocs,
  ...tokenDocs,
  ...exchangeDocs,
  ...repoDocs,
  ...countDocs,
  ...reservationDocs,
  ...objectDocs,
  ...downloadDocs,
  ...historyContract,
  ...webhookDocs,
  ...deleteDocs,
  ...cleanupDocs,
  ...exportDocs,
  ...lockContract,
  ...auditDocs,
} satisfies Readonly<Record<RouteKey, RouteContract>>;
