import * as z from 'zod';
import {
  isLockPath,
  lockHashPattern,
  lockIdPattern,
  lockPageMax,
  lockPathCharactersMax,
} from '../../locks/rules/locks.ts';
import type { Contract } from './contract.ts';

/** The wire format of the LFS File Locking API (git-lfs docs/api/locking.md). */

const ref = z
  .unknown()
  .optional()
  .meta({ description: 'Accepted and not used: a lock is for all branches of its repo.' });

const pathRule = `must have 1 to ${lockPathCharactersMax} characters, and no control characters or invisible ones`;

export const lockRequestSchema = z
  .object({
    path: z.string().refine(isLockPath, pathRule).meta({
      minLength: 1,
      maxLength: lockPathCharactersMax,
      pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$',
      description: 'The file, from the root of the repo.',
    }),
    ref,
  })
  .meta({ id: 'LockRequest' });

const cursorRule = 'must be the next_cursor of the page before';
const cursor = z
  .string()
  .regex(lockHashPattern, cursorRule)
  .optional()
  .meta({ description: '`next_cursor` of the page before. Without it the first page is answered.' });

const limitRule = 'must be a whole number, 0 or more';
const aboutLimit = `Most locks on the page. 0, or more than ${lockPageMax}: ${lockPageMax}.`;

export const verifyLocksRequestSchema = z
  .object({
    ref,
    cursor,
    limit: z.int(limitRule).min(0, limitRule).optional().meta({ description: aboutLimit }),
  })
  .meta({ id: 'VerifyLocksRequest' });

export const listLocksQuery = z.object({
  path: z.string().optional().meta({ description: 'Only the lock of this file.' }),
  id: z.string().optional().meta({ description: 'Only the lock with this id.' }),
  cursor,
  limit: z
    .string()
    .regex(/^\d{1,16}$/, limitRule)
    .transform(Number)
    .pipe(z.int(limitRule).min(0))
    .optional()
    .meta({ description: aboutLimit }),
  refspec: z.string().optional().meta({ description: 'Accepted and not used.' }),
});

export const unlockRequestSchema = z
  .object({
    force: z.boolean().optional().meta({ default: false, description: 'Also if somebody else has it.' }),
    ref,
  })
  .meta({ id: 'UnlockRequest' });

const lockSchema = z
  .object({
    id: z.string().regex(lockIdPattern),
    path: z.string(),
    locked_at: z.iso.datetime().meta({ examples: ['2026-11-21T05:00:00Z'] }),
    owner: z.object({ name: z.string() }),
  })
  .meta({ id: 'Lock' });

/** One lock, taken or released. It has no `message`: the client would take that for an error. */
const oneLockSchema = z.object({ lock: lockSchema }).meta({ id: 'OneLock' });

const lockConflictSchema = z
  .object({ lock: lockSchema, message: z.string(), request_id: z.string() })
  .meta({ id: 'LockConflict' });

const nextCursor = z.string().optional().meta({ description: 'Only if another page follows.' });

const lockListSchema = z
  .object({ locks: z.array(lockSchema), next_cursor: nextCursor })
  .meta({ id: 'LockList' });

const verifiedLocksSchema = z
  .object({
    ours: z.array(lockSchema).meta({ description: 'Those of this token, and of others with its user.' }),
    theirs: z.array(lockSchema),
    next_cursor: nextCursor,
  })
  .meta({ id: 'VerifiedLocks' });

export type WireLock = z.output<typeof lockSchema>;

const exampleLock = {
  id: '78b7c57560b3ee3abcbb78fa4ffdd8f1b5b6aef1Kq3vT0xYb9Za',
  path: 'art/hero.psd',
  locked_at: '2026-11-21T05:00:00Z',
  owner: { name: 'ada' },
};
const exampleRef = { name: 'refs/heads/main' };

/** File locks, as git-lfs takes, lists and releases them. */
export const lfsLockContract = {
  'POST /{tenant}/{repo}/info/lfs/locks': {
    id: 'lock',
    summary: 'Lock a file',
    description:
      "For all branches of the repo, in the name of the token's user or, without one, of the token. Needs a token with " +
      'the scope write or manage.',
    access: 'tenant',
    body: { schema: lockRequestSchema, example: { path: 'art/hero.psd', ref: exampleRef } },
    answers: {
      201: { description: 'It is locked.', schema: oneLockSchema, example: { lock: exampleLock } },
      409: {
        description: 'Somebody has locked it already, perhaps the same owner.',
        schema: lockConflictSchema,
        example: {
          lock: exampleLock,
          message: 'ada has locked art/hero.psd since 2026-11-21 05:00 UTC.',
          request_id: 'Kd9…',
        },
      },
    },
    lfsErrors: {
      403: 'The token may only read, or the repo has as many locks as it can have.',
    },
  },
  'GET /{tenant}/{repo}/info/lfs/locks': {
    id: 'listLocks',
    summary: 'The locks of a repo',
    description: 'Any token of the tenant that is for the repo. None found: an empty list.',
    access: 'tenant',
    query: listLocksQuery,
    answers: { 200: { description: 'One page.', schema: lockListSchema, example: { locks: [exampleLock] } } },
    lfsErrors: {
      422: 'cursor or limit is not valid.',
    },
  },
  'POST /{tenant}/{repo}/info/lfs/locks/verify': {
    id: 'verifyLocks',
    summary: 'The locks of a repo, own ones apart',
    description: 'git-lfs asks this before each push.',
    access: 'tenant',
    body: { schema: verifyLocksRequestSchema, example: { ref: exampleRef } },
    answers: {
      200: {
        description: 'One page.',
        schema: verifiedLocksSchema,
        example: { ours: [exampleLock], theirs: [] },
      },
    },
    lfsErrors: {
      403:
        'There is no such tenant or repo, or this token is of another tenant. ' +
        'Not 404, by which git-lfs would take it that there are no locks.',
      404: null,
    },
  },
  'POST /{tenant}/{repo}/info/lfs/locks/{lockId}/unlock': {
    id: 'unlock',
    summary: 'Release a lock',
    description: 'By its owner, or with force by anybody who may push.',
    access: 'tenant',
    body: { schema: unlockRequestSchema, example: { force: false, ref: exampleRef } },
    answers: {
      200: { description: 'It is released.', schema: oneLockSchema, example: { lock: exampleLock } },
    },
    lfsErrors: {
      403: 'Somebody else has it, and force is not asked for; or the token may only read.',
      404: 'There is no such lock any more; no such tenant or repo; or this token is of another tenant.',
    },
  },
} as const satisfies Contract;
