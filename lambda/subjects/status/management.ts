import { statusOperations } from './routes.ts';

export const statusManagement = { operations: statusOperations };
