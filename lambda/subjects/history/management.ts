import { historyOperations, weekPart } from './routes.ts';

export const historyManagement = { operations: historyOperations, repoPart: weekPart };
