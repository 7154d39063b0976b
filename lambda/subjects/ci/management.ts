import { exchangeOperations } from './routes.ts';
import { ciBelongings } from './seams.ts';

export const exchangeManagement = { operations: exchangeOperations, ends: ciBelongings };
