import { reconcileMessage } from '../../core/ledger/reconcile-requests.ts';
import { type RunReconcileDeps, runReconcile } from '../../core/ledger/run-reconcile.ts';
import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import { consumerOf, longPause } from '../../core/rules/jobs.ts';
import { noteFailedReconcile, whyOf } from '../failures/failures.ts';
import type { FailurePorts } from '../failures/ports.ts';

/** Reconciles a tenant. What fails comes again, and after a few times is a dead letter. */
export function create(deps: RunReconcileDeps & FailurePorts & FunctionPorts) {
  const { log, metrics } = deps;
  return consumerOf(deps, {
    schema: reconcileMessage,
    // To commit, and to hand over what is not done.
    reserveMs: 10_000,
    pause: longPause,
    step: async (request, { receiveCount, deadlineMs }) => {
      await runReconcile(deps, { request, deadlineMs, isRetry: receiveCount > 1 });
      return 'done';
    },
    failed: ({ tenant }, { error, receiveCount: tries }) => {
      log.error('reconcile failed', { tenant, receiveCount: tries, error });
      metrics.increment('ReconcilesFailed');
      return noteFailedReconcile(deps, { tenant, tries, why: whyOf(error) });
    },
  });
}
