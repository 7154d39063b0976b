import type { RouteKey } from '../../routes.ts';
import { auditContract } from './audit.ts';
import { cleanupContract } from './cleanups.ts';
import type { RouteContract } from './contract.ts';
import { countContract } from './counts.ts';
import { deleteContract } from './deletes.ts';
import { downloadContract } from './downloads.ts';
import { exchangeContract } from './exchange.ts';
import { exportContract } from './exports.ts';
import { historyContract } from './history.ts';
import { lfsContract } from './lfs.ts';
import { lfsLockContract } from './lfs-locks.ts';
import { lockContract } from './locks.ts';
import { objectContract } from './objects.ts';
import { repoContract } from './repos.ts';
import { reservationContract } from './reservations.ts';
import { serviceContract } from './service.ts';
import { sessionContract } from './sessions.ts';
import { statusContract } from './status.ts';
import { tenantContract } from './tenants.ts';
import { tokenContract } from './tokens.ts';
import { webhookContract } from './webhooks.ts';

/** Every route with all that is said of it. The compiler lets none be missing. */
export const contract = {
  ...serviceContract,
  ...lfsContract,
  ...lfsLockContract,
  ...sessionContract,
  ...statusContract,
  ...tenantContract,
  ...tokenContract,
  ...exchangeContract,
  ...repoContract,
  ...countContract,
  ...reservationContract,
  ...objectContract,
  ...downloadContract,
  ...historyContract,
  ...webhookContract,
  ...deleteContract,
  ...cleanupContract,
  ...exportContract,
  ...lockContract,
  ...auditContract,
} satisfies Readonly<Record<RouteKey, RouteContract>>;
