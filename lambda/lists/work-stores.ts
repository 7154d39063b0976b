/** Of the stores, those of work that the schedule wakes, and that reconciles ask for. */

export { createDynamoDbExportJobs as exportJobs } from '../subjects/exports/job-store.ts';
export * from './way-stores.ts';
