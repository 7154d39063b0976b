import type { RouteKey } from '../../routes.ts';
import {
  batchRequestSchema,
  batchResponseSchema,
  verifyRequestSchema,
  verifyResponseSchema,
} from '../lfs/schemas.ts';
import type { OperationDoc } from '../operation-docs.ts';

const oid = '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8';

/** What any operation with a token and a body can answer. */
export const lfsErrors = {
  401: 'No valid token. git-lfs then asks its credential helper.',
  404: 'There is no such tenant or repo, or this token is of another tenant.',
  406: 'The Accept header excludes application/vnd.git-lfs+json.',
  413: 'The body is too large, or names too many objects.',
  415: 'The Content-Type is not application/vnd.git-lfs+json.',
  500: 'Internal error. The message names the request.',
  503: 'The storage, or the git host of a person, does not answer. Retry-After says when to try again.',
};

/** The LFS API: what git-lfs calls. */
export const lfsOperations: Readonly<Record<RouteKey<'lfsBatch' | 'lfsVerify'>, OperationDoc>> = {
  'POST /{tenant}/{repo}/info/lfs/objects/batch': {
    id: 'batch',
    summary: 'Ask for uploads or downloads',
    description:
      'The Git LFS Batch API with the basic transfer. An object that may be uploaded gets a presigned PUT for exactly ' +
      'its bytes; the last one, and each of 8 MiB or more, also gets a verify action. One that is stored already gets ' +
      'no actions. One over the limit gets error 507. ' +
      'Uploading needs a token with the scope write. From a public repo anybody can download.',
    access: 'download',
    body: {
      schema: batchRequestSchema,
      example: { operation: 'upload', transfers: ['basic'], objects: [{ oid, size: 12_345 }] },
    },
    answers: {
      200: {
        description: 'One answer for each object, some of which may be errors.',
        schema: batchResponseSchema,
        example: {
          transfer: 'basic',
          objects: [
            {
              oid,
              size: 12_345,
              authenticated: true,
              actions: {
                upload: {
                  href: `https://bucket.s3.eu-central-1.amazonaws.com/acme/game/${oid}?X-Amz-Signature=…`,
                  header: { 'x-amz-checksum-sha256': 'RmWl6kI8JxPUNrXuUFk6lkDgAYwVULWgAC90GQ1srqg=' },
                  expires_in: 1799,
                },
                verify: {
                  href: 'https://lfs.example.com/acme/game.git/info/lfs/verify',
                  header: { 'X-Lfs-Verify-Token': 'lfsv_…' },
                  expires_in: 1799,
                },
              },
            },
          ],
          hash_algo: 'sha256',
        },
      },
    },
    lfsErrors: {
      400: 'The body is not valid JSON.',
      403: 'A read token asks for uploads, or a token was rejected several times within a minute.',
      409: 'hash_algo is not sha256.',
      422: 'The body does not have the expected shape, or names no objects.',
      509: 'The downloads of this month, or those without a token, are used up. The message says when they begin anew.',
      429:
        'Usage is being recounted and the upload is near the limit, or the git host of a person takes no more questions. ' +
        'Retry-After says when to try again.',
      ...lfsErrors,
    },
  },
  'POST /{tenant}/{repo}/info/lfs/verify': {
    id: 'verify',
    summary: 'Report that an upload is complete',
    description: 'Called by git-lfs with the token of the verify action. Usage does not depend on it.',
    access: 'verify',
    body: { schema: verifyRequestSchema, example: { oid, size: 12_345 } },
    answers: { 200: { description: 'The object is stored.', schema: verifyResponseSchema, example: {} } },
    lfsErrors: {
      400: 'The body is not {"oid", "size"}.',
      409: 'The object is stored with another size.',
      ...lfsErrors,
    },
  },
};
