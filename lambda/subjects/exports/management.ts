import { exportOperations } from './routes.ts';
import { exportAudit, exportBelongings, exportFailures } from './seams.ts';

export const exportManagement = {
  operations: exportOperations,
  ends: exportBelongings,
  auditParts: exportAudit,
  failureKinds: exportFailures,
};
