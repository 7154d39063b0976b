import type { RouteKey } from '../../routes.ts';
import {
  listLocksQuery,
  lockConflictSchema,
  lockListSchema,
  lockRequestSchema,
  oneLockSchema,
  unlockRequestSchema,
  verifiedLocksSchema,
  verifyLocksRequestSchema,
} from '../lfs/locks/schemas.ts';
import type { OperationDoc } from '../operation-docs.ts';
import { lfsErrors } from './lfs-operations.ts';

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
export const lockOperationDocs: Readonly<Record<RouteKey<'lfsLocks'>, OperationDoc>> = {
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
};
