import { deployed, markHeapAtOnce } from '../aws/deployed.ts';
import { consumeEach } from '../aws/function.ts';
import { exportDeps } from '../compositions/export-archive.ts';
import type { AdvanceDeps } from '../exports/advance.ts';
import { ExportBusyError } from '../exports/lease.ts';
import { decodeExportMessage } from '../exports/messages.ts';
import { runExportStep } from '../exports/steps.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';

/** Time kept back from the function's limit, for the parts that are under way then. */
const reserveMs = 60_000;

/** A step that failed comes again after this, later each time, at most after a minute. */
const retryMs = 5_000;
const retryMaxMs = 60_000;

type ConsumerDeps = AdvanceDeps & FunctionPorts & { readonly redelivery: Redelivery };

/** The consumer of the steps of exports. A step that fails is delivered again. */
export function create(deps: ConsumerDeps) {
  const { clock, log } = deps;
  return consumeEach(deps, decodeExportMessage, async (message, { receiveCount, context, again }) => {
    const { tenant, exportId, step } = message;
    try {
      const deadlineMs = clock.nowMs() + context.getRemainingTimeInMillis() - reserveMs;
      await runExportStep(deps, { message, deadlineMs });
      return true;
    } catch (error) {
      if (error instanceof ExportBusyError) log.info('export busy', { tenant, exportId, receiveCount });
      else log.warn('export step failed', { tenant, exportId, step, receiveCount, error });
      // The queue's own time is for runs that died.
      return again(Math.min(retryMs * receiveCount, retryMaxMs));
    }
  });
}

export const handler = await deployed(create, exportDeps, markHeapAtOnce);
