import * as z from 'zod';
import type { SwitchedQueue } from '../../core/rules/jobs.ts';
import { isTenantName } from '../../core/rules/names.ts';

const exportStep = z.discriminatedUnion('kind', [
  /** Whatever comes next: plan, hand out work again, finish, or remove what is left. */
  z.object({ kind: z.literal('advance') }),
  /** Remove what lies in the folder of an export that has no record. */
  z.object({ kind: z.literal('forget') }),
  /**
   * One unit of a round's work: some seconds of it, never a part. A million parts would be a million messages, and as
   * many reads of the record.
   */
  z.object({
    kind: z.literal('unit'),
    round: z.int().min(1),
    /** Of the job: always copying. Older versions want it, and had another. */
    state: z.enum(['hashing', 'copying']),
    unit: z.int().min(0),
    /** Of the archive: its orders have a place of their own. Those of older versions lie where a tar's do. */
    format: z.enum(['tar', 'zip']).default('tar'),
  }),
]);

export const exportMessage = z.object({
  tenant: z.string().refine(isTenantName),
  // It becomes part of a key in the store.
  exportId: z.string().regex(/^[0-9A-Za-z_-]{1,64}$/),
  step: exportStep,
});

export type ExportStep = Readonly<z.output<typeof exportStep>>;
export type ExportMessage = Readonly<z.output<typeof exportMessage>>;
export type ExportQueue = SwitchedQueue<ExportMessage>;
