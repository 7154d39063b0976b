import * as z from 'zod';
import { bytes, nextCursor, time } from '../../../api/contract/fields.ts';
import { oidPattern, repoPattern } from '../../../domain/names.ts';

export const objectPageSchema = z
  .object({
    objects: z.array(
      z.object({
        repo: z.string().regex(repoPattern),
        oid: z
          .string()
          .regex(oidPattern)
          .meta({ description: 'SHA-256 of its bytes, 64 lower-case hex digits.' }),
        sizeBytes: bytes,
        storedAt: time
          .nullable()
          .meta({ description: 'When it was put last, as the store says. null: it does not.' }),
      }),
    ),
    others: z.array(z.object({ repo: z.string(), objectCount: z.int().min(1), sizeBytes: bytes })).meta({
      description:
        'Keys of the page that git-lfs does not make, summed up by repo, as they count. Those that are in no repo have ' +
        'an empty name.',
    }),
    nextCursor,
  })
  .meta({ id: 'ObjectPage' });

export type ObjectPageBody = z.output<typeof objectPageSchema>;

export type ObjectBody = ObjectPageBody['objects'][number];
