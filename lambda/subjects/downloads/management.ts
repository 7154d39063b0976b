import { downloadedRepoPart } from './repo-parts.ts';
import { downloadOperations } from './routes.ts';
import { offeredMonths, publicBelongings } from './seams.ts';
import * as stores from './stores.ts';

export const downloadManagement = {
  operations: downloadOperations,
  ends: publicBelongings,
  offered: offeredMonths,
  repoPart: downloadedRepoPart,
  stores,
};
