import * as z from 'zod';
import { bytes, nextCursor, time } from '../../../api/contract/fields.ts';

const objects = z.int();

export const downloadPageSchema = z
  .object({
    month: z
      .object({
        month: z.string().meta({ examples: ['2026-11'] }),
        bytes: z.int().meta({ description: 'Offered in this month (UTC) so far.' }),
        objects,
        limitBytes: bytes.nullable().meta({ description: 'null: unlimited.' }),
        resetsAt: time.meta({ description: 'When the next month begins.' }),
      })
      .meta({ description: 'Of all repos and tokens.' }),
    downloads: z.array(
      z.object({
        day: z.iso.date(),
        repo: z.string(),
        tokenId: z.string().meta({ description: 'Who was offered it. The token may be revoked since.' }),
        bytes: z.int(),
        objects,
      }),
    ),
    nextCursor,
  })
  .meta({ id: 'DownloadPage' });

export type DownloadPageBody = z.output<typeof downloadPageSchema>;
