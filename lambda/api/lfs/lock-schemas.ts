import * as z from 'zod';
import {
  isLockPath,
  lockHashPattern,
  lockIdPattern,
  lockPageMax,
  lockPathCharactersMax,
} from '../../extras/rules/lock.ts';

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
export const oneLockSchema = z.object({ lock: lockSchema }).meta({ id: 'OneLock' });

export const lockConflictSchema = z
  .object({ lock: lockSchema, message: z.string(), request_id: z.string() })
  .meta({ id: 'LockConflict' });

const nextCursor = z.string().optional().meta({ description: 'Only if another page follows.' });

export const lockListSchema = z
  .object({ locks: z.array(lockSchema), next_cursor: nextCursor })
  .meta({ id: 'LockList' });

export const verifiedLocksSchema = z
  .object({
    ours: z.array(lockSchema).meta({ description: 'Those of this token, and of others with its user.' }),
    theirs: z.array(lockSchema),
    next_cursor: nextCursor,
  })
  .meta({ id: 'VerifiedLocks' });

export type WireLock = z.output<typeof lockSchema>;
