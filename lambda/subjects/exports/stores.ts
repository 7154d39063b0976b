export { createDynamoDbExportJobs as exportJobs } from './job-store.ts';
