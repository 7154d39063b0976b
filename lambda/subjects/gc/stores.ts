export { createDynamoDbGcRuns as gcRuns } from './gc-store.ts';
