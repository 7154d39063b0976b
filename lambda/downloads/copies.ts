import * as z from 'zod';
import type { Deps } from '../deps.ts';
import { isCorrelationId } from '../rules/clock-and-log.ts';
import { isOid, isRepoName, isTenantName } from '../rules/names.ts';
import { isByteCount } from '../rules/sizes.ts';
import { parseJson } from '../rules/text.ts';
import type { CopyMessage } from './rules/copies.ts';

/**
 * Copies what users got from their git host, or import: by two signed URLs, one of the host and one of ours, which the batch
 * got and made. So who copies needs no token, and no right but to note what became of it. Signed is also which bytes the
 * store takes.
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
/** A source may not keep others waiting: beside a minute, it has as long as so many bytes take each millisecond. */
const leastPace = { spareMs: 60_000, bytesPerMs: 500 };

/**
 * Copies one object, and notes that, or why nobody tries any more.
 *
 * @param input.attempt 1 or more. @param input.stop ends it before the function's limit.
 * @returns whether nothing is left to be done.
 */
export async function copyObject(
  { copier, copies, clock, log }: Pick<Deps, 'copier' | 'copies' | 'clock' | 'log'>,
  { message, attempt, stop }: { message: CopyMessage; attempt: number; stop: AbortSignal },
): Promise<boolean> {
  const { tenant, repo, oid, sizeBytes, from, to } = message;
  const place = { tenant, repo, oid };
  const timeMs = leastPace.spareMs + sizeBytes / leastPace.bytesPerMs;
  const outcome =
    clock.nowMs() >= message.untilMs
      ? ({ kind: 'refused', reason: 'expired' } as const)
      : await copier.copy({
          from,
          to,
          sizeBytes,
          stop: AbortSignal.any([stop, AbortSignal.timeout(Math.ceil(timeMs))]),
        });
  const failed = outcome.kind === 'copied' ? undefined : outcome.reason;
  if (failed === undefined) log.info('object copied', { ...place, sizeBytes });
  else log.warn('object not copied', { ...place, sizeBytes, reason: failed, attempt });
  const isEnded = outcome.kind !== 'failed' || attempt >= attemptsMax;
  if (isEnded) await copies.end({ ...place, failed });
  return isEnded;
}
