import { assembleUpload } from '../../../../lambda/subjects/chunks/assemble.ts';
import { proveChunk } from '../../../../lambda/subjects/chunks/prove.ts';
import { findUpload, progressOf, serveChunks } from '../../../../lambda/subjects/chunks/serve.ts';
import { tidyUpload } from '../../../../lambda/subjects/chunks/tidy.ts';
import { createDynamoDbChunkedUploads } from '../../../../lambda/subjects/chunks/upload-store.ts';
import { wakeUploads } from '../../../../lambda/subjects/chunks/wake.ts';
import type { SubjectCode } from '../../subject-code.ts';

export const chunks = {
  code: { assembleUpload, findUpload, progressOf, proveChunk, serveChunks, tidyUpload, wakeUploads },
  stores: (table) => ({ chunkedUploads: createDynamoDbChunkedUploads(table) }),
  queues: ['chunkQueue'],
} satisfies SubjectCode;
