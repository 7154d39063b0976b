import { completeMultipart } from './complete-multipart.ts';
import { copyObject } from './copy-object.ts';
import { copyPart } from './copy-part.ts';
import { copySourceHeaders } from './copy-source.ts';
import { createMultipart } from './create-multipart.ts';
import { listMultipart } from './list-multipart.ts';
import { listParts } from './list-parts.ts';
import type { Operation } from './operation.ts';
import { uploadPart } from './upload-part.ts';
import { bodyHeaders, checksumValueHeaders } from './upload-plan.ts';

/**
 * Uploads in parts, and copies. They must be signed in their headers: a presigned URL is for one object of a known size,
 * whose room is reserved until a known time. An upload in parts has neither.
 */
export const multipartOperations: readonly Operation[] = [
  {
    on: 'object',
    method: 'POST',
    marks: { query: ['uploads'] },
    refusesUrls: true,
    headers: ['x-amz-checksum-algorithm', 'x-amz-checksum-type'],
    takesMetadata: true,
    run: createMultipart,
  },
  {
    on: 'object',
    method: 'PUT',
    marks: { query: ['partNumber', 'uploadId'], headers: ['x-amz-copy-source'] },
    refusesUrls: true,
    headers: [...copySourceHeaders, 'x-amz-copy-source-range'],
    run: copyPart,
  },
  {
    on: 'object',
    method: 'PUT',
    marks: { query: ['partNumber', 'uploadId'] },
    refusesUrls: true,
    headers: bodyHeaders,
    run: uploadPart,
  },
  {
    on: 'object',
    method: 'GET',
    marks: { query: ['uploadId'] },
    refusesUrls: true,
    query: ['max-parts', 'part-number-marker'],
    run: listParts,
  },
  {
    on: 'bucket',
    method: 'GET',
    marks: { query: ['uploads'] },
    refusesUrls: true,
    query: ['encoding-type', 'key-marker', 'max-uploads', 'prefix', 'upload-id-marker'],
    run: listMultipart,
  },
  {
    on: 'object',
    method: 'POST',
    marks: { query: ['uploadId'] },
    refusesUrls: true,
    headers: [...checksumValueHeaders, 'x-amz-checksum-type', 'x-amz-mp-object-size'],
    refusedHeaders: ['if-match'],
    run: completeMultipart,
  },
  {
    on: 'object',
    method: 'DELETE',
    marks: { query: ['uploadId'] },
    refusesUrls: true,
    run: async ({ multipart, request }) => {
      const where = { id: request.query.get('uploadId') ?? '', key: request.key };
      await multipart.inTurn(where, () => multipart.end(where));
      return { status: 204 };
    },
  },
  {
    on: 'object',
    method: 'PUT',
    marks: { headers: ['x-amz-copy-source'] },
    refusesUrls: true,
    headers: [...copySourceHeaders, 'x-amz-checksum-algorithm', 'x-amz-metadata-directive'],
    takesMetadata: true,
    refusedHeaders: ['if-match'],
    run: copyObject,
  },
];
