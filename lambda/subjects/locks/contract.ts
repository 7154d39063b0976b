import * as z from 'zod';
import { answer, type Contract } from '../../frame/contract/contract.ts';
import { count, decodeCursor, page, pageOf, time } from '../../frame/contract/fields.ts';

const fileLockSchema = z
  .object({
    id: z.string(),
    path: z.string(),
    owner: z.string().describe('Its owner: a user, or the id of a token without one.'),
    ownerName: z.string().describe('The name that git-lfs shows: user or label of the token.'),
    lockedAt: time,
  })
  .meta({ id: 'FileLock' });

const fileLockPageSchema = page('FileLockPage', { locks: z.array(fileLockSchema) });

const releasedLocksSchema = z
  .object({
    tenant: z.string(),
    repo: z.string(),
    releasedCount: count,
    hasMore: z.boolean().describe('More are left. Repeat the request.'),
  })
  .meta({ id: 'ReleasedLocks' });

export type FileLockBody = z.output<typeof fileLockSchema>;

/** In hex the hash of a path, which has 40 hex digits. */
const cursorPattern = /^c(?:3[0-9]|6[1-6]){40}$/;

/** Which locks: of all owners and paths, unless one is named. */
const filters = {
  owner: z
    .string()
    .min(1, 'must be a user, or the id of a token')
    .optional()
    .describe(
      "Only those of this owner: a user, the id of a token without one, or a git host's user such as github:1234.",
    ),
  path: z.string().min(1, 'must be a path').optional().describe('Only the one of this file.'),
};

const lock = {
  id: '78b7c57560b3ee3abcbb78fa4ffdd8f1b5b6aef1Kq3vT0xYb9Za',
  path: 'art/hero.psd',
  owner: 'ada',
  ownerName: 'ada',
  lockedAt: '2026-11-21T05:00:00Z',
};

export const lockContract = {
  'GET /v1/tenants/{tenant}/repos/{repo}/locks': {
    id: 'listFileLocks',
    summary: 'The file locks of a repo',
    description: 'The order is unspecified. A repo can have locks before its first push.',
    access: 'reader',
    query: pageOf(cursorPattern, decodeCursor).extend(filters),
    answers: { 200: answer('One page.', fileLockPageSchema, { locks: [lock], nextCursor: null }) },
    problems: ['repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}/locks': {
    id: 'releaseFileLocks',
    summary: 'Force-unlock files',
    description: 'All locks of the repo, or the ones matching the query; 1,000 per request.',
    access: 'manager',
    action: 'locks.release',
    // If you misspell a filter, you don't lose what it was to spare.
    query: z.strictObject(filters, 'use owner and path only. No lock was released'),
    answers: {
      200: answer('The number of released locks, and whether more are left.', releasedLocksSchema, {
        tenant: 'acme',
        repo: 'game',
        releasedCount: 12,
        hasMore: false,
      }),
    },
    problems: ['repo-not-found'],
  },
} as const satisfies Contract;
