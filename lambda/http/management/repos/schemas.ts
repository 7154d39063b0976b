import * as z from 'zod';
import { bytes, deleting, nextCursor, time } from '../../../api/contract/fields.ts';

const publicReadSchema = z
  .object({
    monthlyLimitBytes: bytes
      .nullable()
      .meta({ description: 'The ceiling: what anybody may be offered in a month (UTC). null: unlimited.' }),
    since: time.meta({ description: 'When this was decided last.' }),
    month: z
      .object({
        month: z.string().meta({ examples: ['2026-11'] }),
        bytes: z.int().meta({ description: 'Counted to the ceiling in this month so far.' }),
        objects: z.int(),
        resetsAt: time.meta({ description: 'When the next month begins.' }),
      })
      .optional()
      .meta({ description: 'Only in an answer about one repo.' }),
  })
  .meta({ id: 'PublicRead' });

const mappedSchema = z
  .object({
    host: z.string().meta({ description: 'The id of the git host.', examples: ['github'] }),
    repo: z.string().meta({ description: 'Full name of the repository there.', examples: ['acme/game'] }),
    repoId: z
      .string()
      .nullable()
      .meta({ description: 'Its number there. null: nobody has come yet from whom it could be learned.' }),
    since: time.meta({ description: 'When this was decided last.' }),
  })
  .meta({ id: 'GitHostOfRepo' });

export const repoSchema = z
  .object({
    repo: z.string(),
    limitBytes: bytes.nullable().meta({ description: 'Its own limit. null: only that of the tenant.' }),
    storedBytes: bytes.nullable().meta({ description: 'null: not counted yet.' }),
    objectCount: z.int().min(0).nullable(),
    countedAt: time.nullable(),
    before: z
      .object({ day: z.iso.date(), storedBytes: bytes })
      .optional()
      .meta({
        description:
          'What was stored at the end of a day (UTC) some 30 days ago, to tell how it has grown. The first day that is ' +
          'known, if that is later. Only if a day before today is known.',
      }),
    deleting,
    uploading: z
      .literal(true)
      .optional()
      .meta({ description: 'Only while uploads are in progress and nothing was counted yet.' }),
    publicRead: publicReadSchema
      .optional()
      .meta({ description: 'Only if anybody may download from it, without a token.' }),
    gitHost: mappedSchema.optional().meta({
      description: 'Only if people may use it with their tokens for a git host. Not in a subscription.',
    }),
  })
  .meta({ id: 'Repo' });

export const repoPageSchema = z.object({ repos: z.array(repoSchema), nextCursor }).meta({ id: 'RepoPage' });

export type RepoBody = z.output<typeof repoSchema>;

export const recountQueuedSchema = z
  .object({ tenant: z.string(), queued: z.literal(true) })
  .meta({ id: 'RecountQueued' });
