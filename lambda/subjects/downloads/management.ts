import { downloadedRepoPart } from './repo-parts.ts';
import { downloadOperations } from './routes.ts';
import { offeredMonths, publicBelongings } from './seams.ts';

export const downloadManagement = {
  operations: downloadOperations,
  ends: publicBelongings,
  offered: offeredMonths,
  repoPart: downloadedRepoPart,
};
