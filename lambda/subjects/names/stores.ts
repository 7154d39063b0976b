export { createDynamoDbNames as names } from './names-store.ts';
