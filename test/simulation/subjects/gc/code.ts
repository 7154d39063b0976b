import { cancelGc, openGc, startRun } from '../../../../lambda/subjects/gc/gc.ts';
import { createDynamoDbGcRuns } from '../../../../lambda/subjects/gc/gc-store.ts';
import type { SubjectCode } from '../../subject-code.ts';

export const gc = {
  code: { cancelGc, openGc, startRun },
  stores: (table) => ({ gcRuns: createDynamoDbGcRuns(table) }),
} satisfies SubjectCode;
