import * as z from 'zod';
import { bytes, nextCursor, time } from '../../../api/contract/fields.ts';
import { oidPattern } from '../../../domain/names.ts';

export const deletePlanSchema = z
  .object({
    tenant: z.string(),
    repo: z.string().optional(),
    oid: z.string().optional(),
    objectCount: z.int().min(0).nullable().meta({ description: 'As last counted. null: never counted.' }),
    bytes: bytes.nullable(),
    dueAt: time.meta({
      description:
        'From then on all of it goes. Of a tenant, what open uploads still hold goes when those have expired.',
    }),
    waitsFor: z.literal('uploads').optional().meta({
      description:
        'Why it is not due sooner: it was pushed just now, and its upload URLs could bring it back until `dueAt`.',
    }),
  })
  .meta({ id: 'DeletePlan' });

export type DeletePlanBody = z.output<typeof deletePlanSchema>;

const deletionSchema = z
  .object({
    repo: z.string(),
    oid: z.string().regex(oidPattern),
    sizeBytes: bytes,
    state: z.enum(['marked', 'deleting']).meta({
      description: 'marked: a push that names it keeps it. deleting: nobody can keep it any more.',
    }),
    dueAt: time.meta({
      description:
        'It goes no sooner. If it was pushed shortly before the delete, it goes only when its upload URLs have expired.',
    }),
  })
  .meta({ id: 'Deletion' });

export const deletionPageSchema = z
  .object({ deletions: z.array(deletionSchema), nextCursor })
  .meta({ id: 'DeletionPage' });

export type DeletionBody = z.output<typeof deletionSchema>;
