import * as stores from '../stores.ts';
import { createEventBridge } from '../subjects/alerts/event-bus.ts';
import type { EventBus } from '../subjects/alerts/rules/alerts.ts';
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
