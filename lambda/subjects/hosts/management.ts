import { linkedRepoPart } from './repo-parts.ts';
import { tenantLinkOperations } from './routes.ts';
import { hostBelongings } from './seams.ts';
import * as stores from './stores.ts';

export const hostManagement = {
  operations: tenantLinkOperations,
  ends: hostBelongings,
  repoPart: linkedRepoPart,
  stores,
};
