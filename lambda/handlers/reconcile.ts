import { deployed } from '../aws/deployed.ts';
import { type Consumer, consumeEach, redeliveryDelayMs, warmUpScan, withMetrics } from '../aws/function.ts';
import { reconcileDeps } from '../compositions/reconcile.ts';
import { noteFailedReconcile, whyOf } from '../frame/failures.ts';
import type { FailurePorts } from '../frame/ports.ts';
import { decodeReconcileMessage } from '../ledger/reconcile-requests.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';
import { type RunReconcileDeps, runReconcile } from '../ledger/run-reconcile.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';

/** Time kept back from the function's limit, to commit and to hand over what is not done. */
const reserveMs = 10_000;

type ConsumerDeps = RunReconcileDeps &
  FailurePorts &
  FunctionPorts & {
    readonly redelivery: Redelivery;
  };

/** The queue's consumer. What fails comes again, and after a few times ends in the dead-letter queue. */
export function create(deps: ConsumerDeps) {
  const { clock, log, metrics } = deps;
  const consume: Consumer<typeof decodeReconcileMessage> = async (request, received) => {
    const { receiveCount, context, again } = received;
    try {
      const deadlineMs = clock.nowMs() + context.getRemainingTimeInMillis() - reserveMs;
      await runReconcile(deps, { request, deadlineMs, isRetry: receiveCount > 1 });
      return true;
    } catch (error) {
      const { tenant } = request;
      log.error('reconcile failed', { tenant, receiveCount, error });
      metrics.increment('ReconcilesFailed');
      // At the same time: a table that does not answer must not keep the queue from hearing when to try again.
      const [isDone] = await Promise.all([
        again(redeliveryDelayMs(receiveCount)),
        noteFailedReconcile(deps, { tenant, tries: receiveCount, why: whyOf(error) }),
      ]);
      return isDone;
    }
  };
  return consumeEach(deps, decodeReconcileMessage, withMetrics(metrics, consume));
}

export const handler = await deployed(create, reconcileDeps, warmUpScan);
