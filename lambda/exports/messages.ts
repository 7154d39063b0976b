import * as z from 'zod';
import { isCorrelationId } from '../rules/clock-and-log.ts';
import { isTenantName } from '../rules/names.ts';
import { parseJson } from '../rules/text.ts';

/** One step of an export. */
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

/** A message of the queue of exports. */
const exportMessage = z.object({
  tenant: z.string().refine(isTenantName),
  // It becomes part of a key in the store.
  exportId: z.string().regex(/^[0-9A-Za-z_-]{1,64}$/),
  step: exportStep,
  // For the log alone.
  correlationId: z.string().refine(isCorrelationId).optional().catch(undefined),
});

type DecodedExportMessage = z.output<typeof exportMessage>;
export type ExportStep = Readonly<z.output<typeof exportStep>>;
export type ExportMessage = Readonly<Pick<DecodedExportMessage, 'tenant' | 'exportId' | 'step'>>;

/**
 * The queue of steps. It delivers each at least once, several at a time, in any order. A step that fails is delivered
 * again.
 */
export interface ExportQueue {
  /** @throws when the queue did not accept some of them. It may have accepted others. */
  send(messages: readonly ExportMessage[]): Promise<void>;
}

/** @returns undefined if the body is not a step of an export. Retrying never helps then. */
export function decodeExportMessage(body: string): DecodedExportMessage | undefined {
  return exportMessage.safeParse(parseJson(body)).data;
}
