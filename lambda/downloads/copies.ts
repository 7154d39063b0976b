import * as z from 'zod';
import type { Deps } from '../deps.ts';
import { isCorrelationId } from '../rules/clock-and-log.ts';
import { isOid, isRepoName, isTenantName } from '../rules/names.ts';
import { isByteCount } from '../rules/sizes.ts';
import { parseJson } from '../rules/text.ts';
import type { CopyMessage } from './rules/copies.ts';

/**
 * Copies what users got from their git host: by two signed URLs, one of the host and one of ours, which the batch got and
 * made. So who copies needs no token and no right. Signed is also which bytes the store takes.
 */

const request = z.object({
  href: z.url({ protocol: /^https?$/ }),
  header: z.record(z.string(), z.string()),
});

const copyMessage = z.object({
  tenant: z.string().refine(isTenantName),
  repo: z.string().refine(isRepoName),
  oid: z.string().refine(isOid),
  sizeBytes: z.number().refine(isByteCount),
  from: request.shape.href,
  to: request,
  untilMs: z.number(),
  // For the log alone.
  correlationId: z.string().refine(isCorrelationId).optional().catch(undefined),
});

/** @returns undefined if the body is no such message. */
export function decodeCopyMessage(body: string): z.output<typeof copyMessage> | undefined {
  return copyMessage.safeParse(parseJson(body)).data;
}

const attemptsMax = 3;

/**
 * Copies one object.
 *
 * @param input.attempt 1 or more. @param input.stop ends it before the function's limit.
 * @returns whether nothing is left to be done.
 */
export async function copyObject(
  { copier, clock, log }: Pick<Deps, 'copier' | 'clock' | 'log'>,
  { message, attempt, stop }: { message: CopyMessage; attempt: number; stop: AbortSignal },
): Promise<boolean> {
  const { tenant, repo, oid, sizeBytes, from, to } = message;
  const place = { tenant, repo, oid, sizeBytes };
  if (clock.nowMs() >= message.untilMs) {
    log.warn('object not copied', { ...place, reason: 'expired' });
    return true;
  }
  const outcome = await copier.copy({ from, to, sizeBytes, stop });
  if (outcome.kind === 'copied') {
    log.info('object copied', place);
    return true;
  }
  log.warn('object not copied', { ...place, reason: outcome.reason, attempt });
  return outcome.kind === 'refused' || attempt >= attemptsMax;
}
