import { cancelUploads } from '../../../../lambda/subjects/files/files.ts';
import { createDynamoDbPartUploads } from '../../../../lambda/subjects/files/part-store.ts';
import { completeUpload, partsBody, partsWay } from '../../../../lambda/subjects/files/parts.ts';
import { filePartBeat } from '../../../../lambda/subjects/files/seams.ts';
import type { SubjectCode } from '../../subject-code.ts';

export const files = {
  code: { cancelUploads, completeUpload, partsBody, partsWay, wakeFileParts: filePartBeat.beat },
  // Where nothing is uploaded in parts, no run is to differ because somebody could.
  stores: (table, { inParts }) => (inParts ? { partUploads: createDynamoDbPartUploads(table) } : {}),
} satisfies SubjectCode;
