import { gcOperations } from './routes.ts';
import * as stores from './stores.ts';

export const gcManagement = { operations: gcOperations, stores };
