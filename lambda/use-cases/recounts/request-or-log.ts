import type { Deps } from '../../deps.ts';
import type { RecountRequest } from '../../ports/recount-queue.ts';

/**
 * Requests a recount that no answer has promised. If the queue does not take the request, that is logged, and what was
 * asked of the API goes on: the reservation makes its tenant due for the schedule, so the recount is only later.
 */
export async function requestOrLog(
  { queue, log }: Pick<Deps, 'queue' | 'log'>,
  request: RecountRequest,
): Promise<void> {
  try {
    await queue.request(request);
  } catch (error) {
    log.error('recount not requested', { tenant: request.tenant, reason: request.reason, error });
  }
}
