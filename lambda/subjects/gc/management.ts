import { gcOperations } from './routes.ts';

export const gcManagement = { operations: gcOperations };
