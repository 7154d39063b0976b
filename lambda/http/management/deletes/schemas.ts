import * as z from 'zod';
import { bytes, time } from '../fields.ts';

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
