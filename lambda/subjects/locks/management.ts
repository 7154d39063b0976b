import { createDynamoDbLocks } from './lock-store.ts';
import { lockOperations } from './routes.ts';

export const lockManagement = { operations: lockOperations, stores: { locks: createDynamoDbLocks } };
