import { byteHoursOperations } from './byte-hours-routes.ts';
import { createDynamoDbCorrections as corrections } from './correction-store.ts';
import { historyOperations, weekPart } from './routes.ts';

export const historyManagement = {
  operations: { ...historyOperations, ...byteHoursOperations },
  repoPart: weekPart,
  stores: { corrections },
};
