import * as z from 'zod';
import { isRecountReason } from '../domain/recount-policy.ts';
import { isTenantName } from '../rules/names.ts';
import { isCorrelationId } from '../rules/system.ts';
import { parseJson } from '../rules/text.ts';

/** A message of the queue of recounts. */
const recountMessage = z.object({
  tenant: z.string().refine(isTenantName),
  full: z.boolean(),
  // During a deployment a newer sender may use a reason that this version does not know. The recount is still needed.
  reason: z.string().transform((reason) => (isRecountReason(reason) ? reason : 'unfinished')),
  // For the log alone.
  correlationId: z.string().refine(isCorrelationId).optional().catch(undefined),
});

export type RecountMessage = z.output<typeof recountMessage>;

/** @returns undefined if the body is not a recount request. Retrying never helps then. */
export function decodeRecountMessage(body: string): RecountMessage | undefined {
  return recountMessage.safeParse(parseJson(body)).data;
}
