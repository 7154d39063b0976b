import { auditOperations } from './audit.ts';
import { deleteOperations } from './deletes.ts';
import { objectOperations } from './objects.ts';
import { reconcileOperations } from './repos.ts';
import { reservationOperations } from './reservations.ts';
import { scanOperations } from './scans.ts';
import { sessionOperations } from './sessions.ts';
import { tenantOperations } from './tenants.ts';
import { tokenOperations } from './tokens.ts';

/** The frame's routes of the management API, but for repos, of which subjects have a say. */
export const frameOperations = {
  ...auditOperations,
  ...deleteOperations,
  ...objectOperations,
  ...reconcileOperations,
  ...reservationOperations,
  ...scanOperations,
  ...sessionOperations,
  ...tenantOperations,
  ...tokenOperations,
};
