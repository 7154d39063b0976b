import { createDynamoDbGcRuns } from './gc-store.ts';
import { gcOperations } from './routes.ts';

export const gcManagement = { operations: gcOperations, stores: { gcRuns: createDynamoDbGcRuns } };
