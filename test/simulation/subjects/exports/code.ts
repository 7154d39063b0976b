import { createDynamoDbExportJobs } from '../../../../lambda/subjects/exports/job-store.ts';
import { cancelExport } from '../../../../lambda/subjects/exports/start.ts';
import { startExport } from '../../../support/subjects/exports/start-export.ts';
import type { SubjectCode } from '../../subject-code.ts';

export const exports = {
  code: { cancelExport, startExport },
  stores: (table) => ({ exportJobs: createDynamoDbExportJobs(table) }),
} satisfies SubjectCode;
