import { lockOperations } from './routes.ts';

export const lockManagement = { operations: lockOperations };
