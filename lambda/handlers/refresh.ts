import { deliverAlerts } from '../alerts/alerts.ts';
import { queueNotices } from '../alerts/emails.ts';
import { deployed } from '../aws/deployed.ts';
import { withInvocation, withMetrics } from '../aws/function.ts';
import { wakeUploads } from '../chunks/wake.ts';
import { refreshDeps } from '../compositions/refresh.ts';
import type { Deps } from '../deps.ts';
import { wakeExports } from '../exports/start.ts';
import { refresh } from '../ledger/reconcile-requests.ts';

/** The schedule's target. */
export function create(
  deps: Pick<
    Deps,
    | 'ledger'
    | 'alerts'
    | 'eventBus'
    | 'webhookQueue'
    | 'emails'
    | 'emailQueue'
    | 'tokens'
    | 'history'
    | 'queue'
    | 'exportJobs'
    | 'exportQueue'
    | 'exportSettings'
    | 'chunkedUploads'
    | 'chunkQueue'
    | 'clock'
    | 'log'
    | 'invocations'
    | 'metrics'
    | 'settings'
  >,
) {
  const run = async (_event: unknown): Promise<{ queued: number }> => {
    const queued = await refresh(deps);
    const exports = await wakeExports(deps);
    const uploads = await wakeUploads(deps);
    const alerts = await deliverAlerts(deps);
    const notices = await queueNotices(deps);
    deps.log.info('refresh', { queued, exports, uploads, alerts, notices });
    return { queued };
  };
  return withInvocation(deps.invocations, withMetrics(deps.metrics, run));
}

export const handler = await deployed(create, refreshDeps);
