import { exchangeOperations } from './routes.ts';
import { createDynamoDbExchangeRules } from './rule-store.ts';
import { ciBelongings } from './seams.ts';

export const exchangeManagement = {
  operations: exchangeOperations,
  ends: ciBelongings,
  stores: { exchangeRules: createDynamoDbExchangeRules },
};
