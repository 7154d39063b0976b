import * as z from 'zod';
import { bytesOrNull, count, time } from '../../frame/contract/fields.ts';
import type { RepoFields } from '../../frame/contract/repos.ts';
import { publicReadLimit } from '../hosts/contract.ts';
import { copiesShownMax } from './rules/copies.ts';

const publicRead = z
  .strictObject({ monthlyLimitBytes: publicReadLimit })
  .nullable()
  .describe('Makes the repo public: downloads need no token. null: private.');

const publicReadSchema = z
  .object({
    monthlyLimitBytes: bytesOrNull.describe('Monthly download limit (UTC) in bytes. null: unlimited.'),
    since: time.describe('Time of the last change.'),
    month: z
      .object({
        month: z.string().meta({ examples: ['2026-11'] }),
        bytes: z.int().describe('Anonymous downloads of this month so far.'),
        objects: z.int(),
        resetsAt: time.describe('When the next month starts.'),
      })
      .optional()
      .describe('Only in a response about one repo.'),
  })
  .meta({ id: 'PublicRead' });

/** Whether anybody may download from a repo, and what of it is being copied from another server. */
export const downloadRepoFields = {
  shown: {
    copies: z
      .object({
        queued: count.describe('They are being copied, or wait for that.'),
        failed: count.describe('The server stopped trying, within the last day.'),
      })
      .optional()
      .describe(
        `Objects of another server that were pulled or imported, and aren't copied yet: ${copiesShownMax} are counted at most. Only in a response about one repo, if there are any.`,
      ),
    publicRead: publicReadSchema.optional().describe('Only if the repo is public.'),
  },
  set: { publicRead: publicRead.optional() },
  query: {},
  example: {},
  changed: {
    body: { publicRead: { monthlyLimitBytes: 107_374_182_400 } },
    answer: {
      publicRead: {
        monthlyLimitBytes: 107_374_182_400,
        since: '2026-11-20T08:00:00Z',
        month: { month: '2026-11', bytes: 1_470_000_000, objects: 600, resetsAt: '2026-12-01T00:00:00Z' },
      },
    },
  },
  problems: ['public-repos-full'],
} as const satisfies RepoFields;

export type PublicReadBody = z.output<typeof publicReadSchema>;
export type PublicReadChange = z.output<typeof publicRead>;
