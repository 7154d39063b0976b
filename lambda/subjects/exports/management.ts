import { exportOperations } from './routes.ts';
import { exportAudit, exportBelongings, exportFailures } from './seams.ts';
import * as stores from './stores.ts';

export const exportManagement = {
  stores,
  operations: exportOperations,
  ends: exportBelongings,
  auditParts: exportAudit,
  failureKinds: exportFailures,
};
