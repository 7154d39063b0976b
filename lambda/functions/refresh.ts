import type { CoreDeps } from '../core/ledger/core-deps.ts';
import { refresh } from '../core/ledger/reconcile-requests.ts';
import type { FunctionPorts } from '../core/rules/clock-and-log.ts';
import type { AccessPorts } from '../frame/access/ports.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { withInvocation, withMetrics } from '../frame/aws/function.ts';
import * as stores from '../lists/stores.ts';
import { deliverAlerts } from '../subjects/alerts/alerts.ts';
import { queueNotices } from '../subjects/alerts/emails.ts';
import { createEventBridge } from '../subjects/alerts/event-bus.ts';
import type { AlertPorts } from '../subjects/alerts/ports.ts';
import type { EventBus } from '../subjects/alerts/rules/alerts.ts';
import type { ChunkPorts } from '../subjects/chunks/ports.ts';
import { wakeUploads } from '../subjects/chunks/wake.ts';
import type { ExportPorts } from '../subjects/exports/ports.ts';
import { wakeExports } from '../subjects/exports/start.ts';
import { outlookOf } from '../subjects/history/seams.ts';
import {
  chunkQueue,
  common,
  emailQueue,
  exportsOfDeployment,
  metrics,
  optional,
  queue,
  table,
  webhookQueue,
} from './parts.ts';

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

/** The account's event bus, if the stage publishes to it. */
function eventBus(): EventBus {
  if (optional('LFS_QUOTA_EVENT_BUS') === undefined) return { publish: async () => undefined };
  return createEventBridge();
}

export function refreshDeps() {
  const tables = table();
  return {
    ...common(),
    ledger: stores.ledger(tables),
    alerts: stores.alerts(tables),
    eventBus: eventBus(),
    emails: stores.emails(tables),
    tokens: stores.tokens(tables),
    outlook: outlookOf({ history: stores.history(tables) }),
    webhookQueue: webhookQueue(),
    emailQueue: emailQueue(),
    queue: queue(),
    metrics: metrics(),
    ...exportsOfDeployment(),
    exportJobs: stores.exportJobs(tables),
    chunkedUploads: stores.chunkedUploads(tables),
    chunkQueue: chunkQueue(),
  };
}

export const handler = await deployed(create, refreshDeps);
