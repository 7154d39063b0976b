import { refreshDeps } from '../compositions/refresh.ts';
import type { CoreDeps } from '../core/ledger/core-deps.ts';
import { refresh } from '../core/ledger/reconcile-requests.ts';
import type { FunctionPorts } from '../core/rules/clock-and-log.ts';
import type { AccessPorts } from '../frame/access/ports.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { withInvocation, withMetrics } from '../frame/aws/function.ts';
import { deliverAlerts } from '../subjects/alerts/alerts.ts';
import { queueNotices } from '../subjects/alerts/emails.ts';
import type { AlertPorts } from '../subjects/alerts/ports.ts';
import type { ChunkPorts } from '../subjects/chunks/ports.ts';
import { wakeUploads } from '../subjects/chunks/wake.ts';
import type { ExportPorts } from '../subjects/exports/ports.ts';
import { wakeExports } from '../subjects/exports/start.ts';

/** The schedule's target. */
export function create(
  deps: Pick<CoreDeps, 'ledger' | 'queue' | 'clock' | 'log' | 'metrics' | 'settings'> &
    Pick<AccessPorts, 'tokens'> &
    Pick<AlertPorts, 'alerts' | 'eventBus' | 'webhookQueue' | 'emails' | 'emailQueue' | 'outlook'> &
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
