import * as z from 'zod';
import { isCorrelationId } from '../rules/clock-and-log.ts';
import { isTenantName } from '../rules/names.ts';
import { parseJson } from '../rules/text.ts';

/** One step of an export. */
export type ExportStep =
  /** Whatever comes next: plan, hand out work again, finish, or remove what is left. */
  | { readonly kind: 'advance' }
  /** Remove what lies in the folder of an export that has no record. */
  | { readonly kind: 'forget' }
  /**
   * One unit of a round's work: some seconds of it, never a part. A million parts would be a million messages, and as
   * many reads of the record.
   */
  | {
      readonly kind: 'unit';
      readonly round: number;
      readonly state: 'hashing' | 'copying';
      readonly unit: number;
    };

export interface ExportMessage {
  readonly tenant: string;
  readonly exportId: string;
  readonly step: ExportStep;
}

/**
 * The queue of steps. It delivers each at least once, several at a time, in any order. A step that fails is delivered
 * again.
 */
export interface ExportQueue {
  /** @throws when the queue did not accept some of them. It may have accepted others. */
  send(messages: readonly ExportMessage[]): Promise<void>;
}

/** A message of the queue of exports. */
const exportMessage = z.object({
  tenant: z.string().refine(isTenantName),
  // It becomes part of a key in the store.
  exportId: z.string().regex(/^[0-9A-Za-z_-]{1,64}$/),
  step: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('advance') }),
    z.object({ kind: z.literal('forget') }),
    z.object({
      kind: z.literal('unit'),
      round: z.int().min(1),
      state: z.enum(['hashing', 'copying']),
      unit: z.int().min(0),
    }),
  ]),
  // For the log alone.
  correlationId: z.string().refine(isCorrelationId).optional().catch(undefined),
});

type DecodedExportMessage = z.output<typeof exportMessage>;

/** @returns undefined if the body is not a step of an export. Retrying never helps then. */
export function decodeExportMessage(body: string): DecodedExportMessage | undefined {
  return exportMessage.safeParse(parseJson(body)).data;
}
