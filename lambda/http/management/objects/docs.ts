import type { OperationDocs } from '../../operation-docs.ts';
import { objectQuery } from './requests.ts';
import { objectPageSchema } from './schemas.ts';

export const oid = '4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8';

/** What lies in the store. */
export const objectDocs = {
  'GET /v1/tenants/{tenant}/objects': {
    id: 'listObjects',
    summary: 'What a tenant stores, object by object',
    description:
      'As the store lists it now, by repo and oid: also what was not counted yet, and what is being deleted. An object ' +
      'that several repos have is there for each of them. A page may be shorter than asked for, or empty, without being ' +
      'the last: of keys that git-lfs does not make there are only sums.',
    access: 'reader',
    query: objectQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: objectPageSchema,
        example: {
          objects: [{ repo: 'game', oid, sizeBytes: 2_450_000, storedAt: '2026-11-20T08:00:00Z' }],
          others: [],
          nextCursor: null,
        },
      },
    },
    problems: ['tenant-not-found', 'repo-required', 'repo-not-found'],
  },
} satisfies OperationDocs;
