import * as z from 'zod';
import type { Contract } from './contract.ts';
import {
  bytes,
  cursorPattern,
  day,
  decodeCursor,
  encodeCursor,
  nextCursor,
  ofRepo,
  pageOf,
  time,
} from './fields.ts';

const downloadQuery = pageOf(cursorPattern, decodeDownloadCursor)
  .extend(ofRepo)
  .extend({
    from: day('The first day, in UTC. Default: the first of this month.'),
    to: day('The last day, in UTC. Default: today.'),
  });

const objects = z.int();

const downloadPageSchema = z
  .object({
    month: z
      .object({
        month: z.string().meta({ examples: ['2026-11'] }),
        bytes: z.int().meta({ description: 'Offered in this month (UTC) so far.' }),
        objects,
        limitBytes: bytes.nullable().meta({ description: 'null: unlimited.' }),
        resetsAt: time.meta({ description: 'When the next month starts.' }),
      })
      .meta({ description: 'Of all repos and tokens.' }),
    downloads: z.array(
      z.object({
        day: z.iso.date(),
        repo: z.string(),
        tokenId: z.string().meta({
          description:
            "The token that got the URLs; it might be revoked now. public: no token. For a git host's user, their id, such as github:1234.",
        }),
        bytes: z.int(),
        objects,
      }),
    ),
    nextCursor,
  })
  .meta({ id: 'DownloadPage' });

export type DownloadPageBody = z.output<typeof downloadPageSchema>;

/** What was offered for download. */
export const downloadContract = {
  'GET /v1/tenants/{tenant}/downloads': {
    id: 'listDownloads',
    summary: 'Offered downloads, by day, repo and token',
    description:
      "Counts offered downloads: when a URL is issued, not when it's used. A repeated request counts again. Exports don't count. Kept for 400 days. A page can be short or empty without being the last.",
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
    problems: ['repo-not-found'],
  },
} as const satisfies Contract;

interface DownloadPlace {
  readonly day: string;
  readonly repo: string;
  readonly tokenId: string;
}

export function encodeDownloadCursor({ day, repo, tokenId }: DownloadPlace): string {
  return encodeCursor(`${day}#${repo}#${tokenId}`);
}

function decodeDownloadCursor(cursor: string): DownloadPlace {
  const [day = '', repo = '', ...rest] = decodeCursor(cursor).split('#');
  return { day, repo, tokenId: rest.join('#') };
}
