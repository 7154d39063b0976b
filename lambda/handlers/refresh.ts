import type { AccessPorts } from '../access/ports.ts';
import { deliverAlerts } from '../alerts/alerts.ts';
import { queueNotices } from '../alerts/emails.ts';
import type { AlertPorts } from '../alerts/ports.ts';
import { deployed } from '../aws/deployed.ts';
import { withInvocation, withMetrics } from '../aws/function.ts';
import type { ChunkPorts } from '../chunks/ports.ts';
import { wakeUploads } from '../chunks/wake.ts';
import { refreshDeps } from '../compositions/refresh.ts';
import type { ExportPorts } from '../exports/ports.ts';
import { wakeExports } from '../exports/start.ts';
import type { CoreDeps } from '../ledger/core-deps.ts';
import { refresh } from '../ledger/reconcile-requests.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';

/** The schedule's target. */
export function create(
  deps: Pick<CoreDeps, 'ledger' | 'queue' | 'clock' | 'log' | 'metrics' | 'settings'> &
    Pick<AccessPorts, 'tokens'> &
    Pick<AlertPorts, 'alerts' | 'eventBus' | 'webhookQueue' | 'emails' | 'emailQueue'> &
    ExportPorts &
    ChunkPorts &
    FunctionPorts,
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
