export { createDynamoDbChunkedUploads as chunkedUploads } from './upload-store.ts';
