import { alertOperations } from './routes.ts';

export const alertManagement = { operations: alertOperations };
