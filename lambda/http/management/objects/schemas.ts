import * as z from 'zod';
import { oidPattern, repoPattern } from '../../../domain/names.ts';
import { bytes, nextCursor } from '../fields.ts';

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
      }),
    ),
    nextCursor,
  })
  .meta({ id: 'ObjectPage' });

export type ObjectBody = z.output<typeof objectPageSchema>['objects'][number];
