import { exportOperations } from './routes.ts';
import { exportEnds, exportFailures, exportTies } from './seams.ts';

export const exportManagement = {
  operations: exportOperations,
  ends: exportTies,
  auditParts: exportEnds,
  failureKinds: exportFailures,
};
