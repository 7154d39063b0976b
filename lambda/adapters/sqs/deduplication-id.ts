import { recountCollapseMs, urgencyOf } from '../../domain/recount-policy.ts';
import type { RecountRequest } from '../../ports/recount-queue.ts';

/** Requests of different kinds do not collapse. See `RecountQueue` in `lambda/ports/recount-queue.ts`. */
function kindOf({ reason, full }: RecountRequest): string {
  const source = reason === 'schedule' ? 'schedule' : urgencyOf(reason);
  return `${full ? 'full' : 'due'}.${source}`;
}

/** Requests with the same id become one message: those of one tenant, of one kind, in one bucket of time. */
export function deduplicationId(request: RecountRequest, nowMs: number): string {
  return `${request.tenant}.${kindOf(request)}.${Math.floor(nowMs / recountCollapseMs)}`;
}
