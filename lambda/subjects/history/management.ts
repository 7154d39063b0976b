import { historyOperations } from './routes.ts';

export const historyManagement = { operations: historyOperations };
