/** Of the stores, those of work that the schedule wakes, and that reconciles ask for. */

export { createDynamoDbChunkedUploads as chunkedUploads } from '../subjects/chunks/upload-store.ts';
export { createDynamoDbExportJobs as exportJobs } from '../subjects/exports/job-store.ts';
