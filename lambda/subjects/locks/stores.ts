export { createDynamoDbLocks as locks } from './lock-store.ts';
