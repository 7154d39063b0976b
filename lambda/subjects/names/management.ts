import { nameOperations } from './routes.ts';
import * as stores from './stores.ts';

export const nameManagement = { operations: nameOperations, stores };
