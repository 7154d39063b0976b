import * as z from 'zod';
import { answer, type Contract } from '../../frame/contract/contract.ts';
import {
  bytesOrNull,
  cursorOf,
  cursorPattern,
  day,
  ofRepo,
  page,
  pageOf,
  time,
} from '../../frame/contract/fields.ts';

export const downloadCursor = cursorOf('day', 'repo', 'tokenId');

const downloadQuery = pageOf(cursorPattern, downloadCursor.decode)
  .extend(ofRepo)
  .extend({
    from: day('The first day, in UTC. Default: the first of this month.'),
    to: day('The last day, in UTC. Default: today.'),
  });

const objects = z.int();

const downloadPageSchema = page('DownloadPage', {
  month: z
    .object({
      month: z.string().meta({ examples: ['2026-11'] }),
      bytes: z.int().describe('Offered in this month (UTC) so far.'),
      objects,
      limitBytes: bytesOrNull.describe('null: unlimited.'),
      resetsAt: time.describe('When the next month starts.'),
    })
    .describe('Of all repos and tokens.'),
  downloads: z.array(
    z.object({
      day: z.iso.date(),
      repo: z.string(),
      tokenId: z
        .string()
        .describe(
          "The token that got the URLs; it might be revoked now. public: no token. For a git host's user, their id, such as github:1234.",
        ),
      bytes: z.int(),
      objects,
    }),
  ),
});

export type DownloadPageBody = z.output<typeof downloadPageSchema>;

export const downloadContract = {
  'GET /v1/tenants/{tenant}/downloads': {
    id: 'listDownloads',
    summary: 'Offered downloads, by day, repo and token',
    description:
      "Counts offered downloads: when a URL is issued, not when it's used. A repeated request counts again. Exports don't count. Kept for 400 days. A page can be short or empty without being the last.",
    access: 'reader',
    query: downloadQuery,
    answers: {
      200: answer('One page, and this month.', downloadPageSchema, {
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
      }),
    },
    problems: ['repo-not-found'],
  },
} as const satisfies Contract;
