import type { OperationDocs } from '../../operation-docs.ts';
import { downloadQuery } from './requests.ts';
import { downloadPageSchema } from './schemas.ts';

/** What was offered for download. */
export const downloadDocs = {
  'GET /v1/tenants/{tenant}/downloads': {
    id: 'listDownloads',
    summary: 'What was offered for download, by day, repo and token',
    description:
      'Counted when a batch is answered: offered, not transferred. What is asked for again counts again; a URL that is used ' +
      'twice counts once; archives of exports do not count. Kept for 400 days. A page may be shorter than asked for, or ' +
      'empty, without being the last.',
    access: 'reader',
    query: downloadQuery,
    answers: {
      200: {
        description: 'One page, and this month.',
        schema: downloadPageSchema,
        example: {
          month: {
            month: '2026-11',
            bytes: 48_000_000_000,
            objects: 9_120,
            limitBytes: 100_000_000_000,
            resetsAt: '2026-12-01T00:00:00Z',
          },
          downloads: [
            { day: '2026-11-21', repo: 'game', tokenId: '5f0c1e2d3b4a5968', bytes: 14_700_000, objects: 6 },
          ],
          nextCursor: null,
        },
      },
    },
    problems: ['tenant-not-found', 'repo-not-found'],
  },
} satisfies OperationDocs;
