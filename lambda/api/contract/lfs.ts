import {
  listLocksQuery,
  lockConflictSchema,
  lockListSchema,
  lockRequestSchema,
  oneLockSchema,
  unlockRequestSchema,
  verifiedLocksSchema,
  verifyLocksRequestSchema,
} from '../lfs/lock-schemas.ts';
import {
  batchRequestSchema,
  batchResponseSchema,
  verifyRequestSchema,
  verifyResponseSchema,
} from '../lfs/schemas.ts';
import type { Contract } from './contract.ts';

const oid = '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8';

/** What any operation with a token and a body can answer. */
const lfsErrors = {
  401: 'No valid token. git-lfs then asks its credential helper.',
  404: 'There is no such tenant or repo, or this token is of another tenant.',
  406: 'The Accept header excludes application/vnd.git-lfs+json.',
  413: 'The body is too large, or names too many objects.',
  415: 'The Content-Type is not application/vnd.git-lfs+json.',
  500: 'Internal error. The message names the request.',
  503: 'The storage, or the git host of a person, does not answer. Retry-After says when to try again.',
};

/** The LFS API: what git-lfs calls. */
export const lfsContract = {
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
} as const satisfies Contract;

const lock = {
  id: '78b7c57560b3ee3abcbb78fa4ffdd8f1b5b6aef1Kq3vT0xYb9Za',
  path: 'art/hero.psd',
  locked_at: '2026-11-21T05:00:00Z',
  owner: { name: 'ada' },
};
const ref = { name: 'refs/heads/main' };

const lockErrors = {
  429: 'The git host of a person takes no more questions. Retry-After says when to try again.',
  ...lfsErrors,
};
const { 413: _, 415: __, ...errorsWithoutBody } = lockErrors;
const { 404: notFound, ...otherErrors } = lockErrors;
const bodyErrors = {
  400: 'The body is not valid JSON.',
  422: 'The body does not have the expected shape.',
};
const repeatedLogin = 'A token was rejected several times within a minute.';

/** File locks, as git-lfs takes, lists and releases them. */
export const lfsLockContract = {
  'POST /{tenant}/{repo}/info/lfs/locks': {
    id: 'lock',
    summary: 'Lock a file',
    description:
      "For all branches of the repo, in the name of the token's user or, without one, of the token. Needs a token with " +
      'the scope write or manage.',
    access: 'tenant',
    body: { schema: lockRequestSchema, example: { path: 'art/hero.psd', ref } },
    answers: {
      201: { description: 'It is locked.', schema: oneLockSchema, example: { lock } },
      409: {
        description: 'Somebody has locked it already, perhaps the same owner.',
        schema: lockConflictSchema,
        example: {
          lock,
          message: 'ada has locked art/hero.psd since 2026-11-21 05:00 UTC.',
          request_id: 'Kd9…',
        },
      },
    },
    lfsErrors: {
      403: `The token may only read, or the repo has as many locks as it can have. ${repeatedLogin}`,
      ...bodyErrors,
      ...lockErrors,
    },
  },
  'GET /{tenant}/{repo}/info/lfs/locks': {
    id: 'listLocks',
    summary: 'The locks of a repo',
    description: 'Any token of the tenant that is for the repo. None found: an empty list.',
    access: 'tenant',
    query: listLocksQuery,
    answers: { 200: { description: 'One page.', schema: lockListSchema, example: { locks: [lock] } } },
    lfsErrors: {
      403: repeatedLogin,
      422: 'cursor or limit is not valid.',
      ...errorsWithoutBody,
    },
  },
  'POST /{tenant}/{repo}/info/lfs/locks/verify': {
    id: 'verifyLocks',
    summary: 'The locks of a repo, own ones apart',
    description: 'git-lfs asks this before each push.',
    access: 'tenant',
    body: { schema: verifyLocksRequestSchema, example: { ref } },
    answers: {
      200: {
        description: 'One page.',
        schema: verifiedLocksSchema,
        example: { ours: [lock], theirs: [] },
      },
    },
    lfsErrors: {
      403: `${notFound} Not 404, by which git-lfs would take it that there are no locks. ${repeatedLogin}`,
      ...bodyErrors,
      ...otherErrors,
    },
  },
  'POST /{tenant}/{repo}/info/lfs/locks/{lockId}/unlock': {
    id: 'unlock',
    summary: 'Release a lock',
    description: 'By its owner, or with force by anybody who may push.',
    access: 'tenant',
    body: { schema: unlockRequestSchema, example: { force: false, ref } },
    answers: { 200: { description: 'It is released.', schema: oneLockSchema, example: { lock } } },
    lfsErrors: {
      403: `Somebody else has it, and force is not asked for; or the token may only read. ${repeatedLogin}`,
      ...bodyErrors,
      ...lockErrors,
      404: 'There is no such lock any more; no such tenant or repo; or this token is of another tenant.',
    },
  },
} as const satisfies Contract;
