import type { OperationDocs } from '../../operation-docs.ts';
import { listLocksQuery, releaseLocksQuery } from './requests.ts';
import { fileLockPageSchema, releasedLocksSchema } from './schemas.ts';

const lock = {
  id: '78b7c57560b3ee3abcbb78fa4ffdd8f1b5b6aef1Kq3vT0xYb9Za',
  path: 'art/hero.psd',
  owner: 'ada',
  ownerName: 'ada',
  lockedAt: '2026-11-21T05:00:00Z',
};

/** File locks. */
export const lockDocs = {
  'GET /v1/tenants/{tenant}/repos/{repo}/locks': {
    id: 'listFileLocks',
    summary: 'The file locks of a repo',
    description: 'In no order that means anything. A repo may have locks before its first push.',
    access: 'reader',
    query: listLocksQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: fileLockPageSchema,
        example: { locks: [lock], nextCursor: null },
      },
    },
    problems: ['tenant-not-found', 'repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}/locks': {
    id: 'releaseFileLocks',
    summary: 'Release file locks, whoever owns them',
    description: 'All of the repo, or those that the query names; 1,000 with one request.',
    access: 'manager',
    query: releaseLocksQuery,
    answers: {
      200: {
        description: 'How many were released, and whether others are left.',
        schema: releasedLocksSchema,
        example: { tenant: 'acme', repo: 'game', releasedCount: 12, hasMore: false },
      },
    },
    problems: ['tenant-not-found', 'repo-not-found'],
  },
} satisfies OperationDocs;
