import { lockOperations } from './routes.ts';
import * as stores from './stores.ts';

export const lockManagement = { operations: lockOperations, stores };
