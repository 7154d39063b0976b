import type { ReconcileRequest } from '../ports/reconcile-queue.ts';
import { awaitOtherReconcile } from './await-reconcile.ts';
import type { Deps } from './deps.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';

/**
 * Answers one request of the queue. Where another reconcile is running, it is waited for and then this one
 * runs too: the request may be about something that the other one's scan had passed already.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError} so that the message comes again.
 */
export async function consumeReconcile(
  deps: ReconcileDeps & Pick<Deps, 'queue'>,
  input: { request: ReconcileRequest; deadlineMs: number },
): Promise<'done' | 'requeued'> {
  const { request, deadlineMs } = input;
  for (;;) {
    const outcome = await reconcile(deps, { tenant: request.tenant, full: request.full, deadlineMs });
    switch (outcome.kind) {
      case 'committed':
      case 'absent':
        return 'done';
      case 'busy': {
        const before = await deps.ledger.readTenant(request.tenant);
        if (!before) return 'done';
        await awaitOtherReconcile(deps, { before, deadlineMs });
        if (deps.clock.nowMs() + 1000 < deadlineMs) continue;
        break;
      }
      case 'superseded':
      case 'unfinished':
        break;
    }
    await deps.queue.request({ ...request, reason: 'unfinished' });
    return 'requeued';
  }
}
