/** Of the stores, those that batches need for other ways of uploads. */

export { createDynamoDbChunkedUploads as chunkedUploads } from '../subjects/chunks/upload-store.ts';
