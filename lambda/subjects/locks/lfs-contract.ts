import * as z from 'zod';
import type { Contract } from '../../frame/contract/contract.ts';
import { lenientObject } from '../../frame/contract/json.ts';
import {
  isShownPath,
  lockHashPattern,
  lockIdPattern,
  lockPageMax,
  lockPathCharactersMax,
  lockPathStart,
} from './rules/locks.ts';

/** The wire format of the LFS File Locking API (git-lfs docs/api/locking.md). */
const ref = z.unknown().optional().describe('Accepted and ignored: a lock applies to all branches.');

const lengthRule = `must have 1 to ${lockPathCharactersMax} characters, and no control characters or invisible ones`;
const pathRule = "must be the file's path from the root of the repo, such as art/hero.psd";

export const lockRequestSchema = lenientObject({
  path: z
    .string()
    .refine(isShownPath, { message: lengthRule, abort: true })
    .refine((path) => lockPathStart.test(path), pathRule)
    .meta({
      minLength: 1,
      maxLength: lockPathCharactersMax,
      pattern: `${lockPathStart.source}[^\\u0000-\\u001f\\u007f-\\u009f]+$`,
      description: 'The file, from the root of the repo. A backslash is a slash.',
    }),
  ref,
}).meta({ id: 'LockRequest' });

const cursorRule = 'must be the next_cursor of the previous page';
const cursor = z
  .string()
  .regex(lockHashPattern, cursorRule)
  .optional()
  .describe('`next_cursor` of the previous page. Default: the first page.');

const limitRule = 'must be a whole number, 0 or more';
const aboutLimit = `Most locks on the page. 0, or more than ${lockPageMax}: ${lockPageMax}.`;

export const verifyLocksRequestSchema = lenientObject({
  ref,
  cursor,
  limit: z.int(limitRule).min(0, limitRule).optional().describe(aboutLimit),
}).meta({ id: 'VerifyLocksRequest' });

export const listLocksQuery = lenientObject({
  path: z.string().optional().describe('Only the lock of this file.'),
  id: z.string().optional().describe('Only the lock with this id.'),
  cursor,
  limit: z
    .string()
    .regex(/^\d{1,16}$/, limitRule)
    .transform(Number)
    .pipe(z.int(limitRule).min(0))
    .optional()
    .describe(aboutLimit),
  refspec: z.string().optional().describe('Accepted and ignored.'),
});

export const unlockRequestSchema = lenientObject({
  force: z.boolean().optional().meta({ default: false, description: 'Also if another user has it.' }),
  ref,
}).meta({ id: 'UnlockRequest' });

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

const nextCursor = z.string().optional().describe('Only if another page follows.');

const lockListSchema = z
  .object({ locks: z.array(lockSchema), next_cursor: nextCursor })
  .meta({ id: 'LockList' });

const verifiedLocksSchema = z
  .object({
    ours: z.array(lockSchema).describe('Your locks: those of this token and of others with its user.'),
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
      "Applies to all branches. The owner is the token's user or, without one, the token. Requires the write or manage scope.",
    access: 'tenant',
    body: { schema: lockRequestSchema, example: { path: 'art/hero.psd', ref: exampleRef } },
    answers: {
      201: { description: 'It is locked.', schema: oneLockSchema, example: { lock: exampleLock } },
      409: {
        description: "It's already locked, maybe by the same owner.",
        schema: lockConflictSchema,
        example: {
          lock: exampleLock,
          message: 'ada locked art/hero.psd on 2026-11-21 at 05:00 UTC.',
          request_id: 'Kd9…',
        },
      },
    },
    lfsErrors: {
      403: 'The token is read-only, or the repo has reached its maximum of locks.',
    },
  },
  'GET /{tenant}/{repo}/info/lfs/locks': {
    id: 'listLocks',
    summary: 'The locks of a repo',
    description: 'Any token with access to the repo. Without locks: an empty list.',
    access: 'tenant',
    query: listLocksQuery,
    answers: { 200: { description: 'One page.', schema: lockListSchema, example: { locks: [exampleLock] } } },
    lfsErrors: {
      422: 'cursor or limit is invalid.',
    },
  },
  'POST /{tenant}/{repo}/info/lfs/locks/verify': {
    id: 'verifyLocks',
    summary: 'The locks of a repo, your own separately',
    description: 'git-lfs calls it before each push.',
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
      403: "The tenant or repo doesn't exist, or this token can't see it. Not 404, because git-lfs would conclude that the server has no locks.",
      404: null,
    },
  },
  'POST /{tenant}/{repo}/info/lfs/locks/{lockId}/unlock': {
    variables: { lockId: lockIdPattern },
    id: 'unlock',
    summary: 'Release a lock',
    description: 'By its owner, or with force by any user who can push.',
    access: 'tenant',
    body: { schema: unlockRequestSchema, example: { force: false, ref: exampleRef } },
    answers: {
      200: { description: 'It is released.', schema: oneLockSchema, example: { lock: exampleLock } },
    },
    lfsErrors: {
      403: "Another user has it and force isn't set, or the token is read-only.",
      404: "The lock, tenant or repo doesn't exist, or this token can't see it.",
    },
  },
} as const satisfies Contract;
