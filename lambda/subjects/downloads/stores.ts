export { createDynamoDbCopies as copies } from './copy-store.ts';
export { createDynamoDbDownloads as downloads } from './download-store.ts';
export { createDynamoDbPublicReads as publicReads } from './public-read-store.ts';
