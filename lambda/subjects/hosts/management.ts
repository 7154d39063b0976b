import { linkedRepoPart } from './repo-parts.ts';
import { tenantLinkOperations } from './routes.ts';
import { hostBelongings } from './seams.ts';

export const hostManagement = {
  operations: tenantLinkOperations,
  ends: hostBelongings,
  repoPart: linkedRepoPart,
};
