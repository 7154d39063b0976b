import { createDynamoDbDownloads } from '../../../../lambda/subjects/downloads/download-store.ts';
import type { SubjectCode } from '../../subject-code.ts';

export const downloads = {
  code: {},
  stores: (table) => ({ downloads: createDynamoDbDownloads(table) }),
} satisfies SubjectCode;
