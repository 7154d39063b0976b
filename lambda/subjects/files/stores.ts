export { createDynamoDbPartUploads as partUploads } from './part-store.ts';
