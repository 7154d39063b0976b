import { create as createConsole } from '../lambda/handlers/console.ts';
import { create as createExchangeToken } from '../lambda/handlers/exchange-token.ts';
import { create as createExportArchive } from '../lambda/handlers/export-archive.ts';
import { create as createGetSubscription } from '../lambda/handlers/get-subscription.ts';
import { create as createHealth } from '../lambda/handlers/health.ts';
import { create as createLfsBatch } from '../lambda/handlers/lfs-batch.ts';
import { create as createLfsLocks } from '../lambda/handlers/lfs-locks.ts';
import { create as createLfsVerify } from '../lambda/handlers/lfs-verify.ts';
import { create as createManagement } from '../lambda/handlers/management.ts';
import { create as createNotFound } from '../lambda/handlers/not-found.ts';
import { create as createOpenApi } from '../lambda/handlers/openapi.ts';
import { create as createReconcile } from '../lambda/handlers/reconcile.ts';
import { create as createRefresh } from '../lambda/handlers/refresh.ts';
import { create as createSendWebhook } from '../lambda/handlers/send-webhook.ts';
import type { Redelivery } from '../lambda/ports/recount-queue.ts';
import type { Deps } from '../lambda/use-cases/deps.ts';
import type { PumpConsumer } from './background/pump.ts';
import type { QueueConsumer } from './background/recount-pump.ts';
import type { ScheduledFunction } from './background/schedule.ts';
import { builtConsoleFiles } from './console-files.ts';
import type { HttpFunctions } from './http/front.ts';

/** The functions that are deployed, over the embedded stack's dependencies. */
export interface Functions {
  readonly http: HttpFunctions;
  readonly reconcile: QueueConsumer;
  readonly refresh: ScheduledFunction;
  readonly exportArchive: PumpConsumer;
  readonly sendWebhook: PumpConsumer;
}

/** The queue of this process waits by itself before it delivers again. */
const redelivery: Redelivery = { delay: async () => undefined };

/** @param webhookRedelivery when what was not taken is sent again. */
export function createFunctions(deps: Deps, webhookRedelivery: Redelivery = redelivery): Functions {
  return {
    http: {
      console: createConsole({ files: builtConsoleFiles() }),
      health: createHealth(),
      openapi: createOpenApi(),
      lfsBatch: createLfsBatch(deps),
      lfsVerify: createLfsVerify(deps),
      lfsLocks: createLfsLocks(deps),
      getSubscription: createGetSubscription(deps),
      exchangeToken: createExchangeToken(deps),
      management: createManagement(deps),
      notFound: createNotFound(),
    },
    reconcile: createReconcile({ ...deps, redelivery }),
    refresh: createRefresh(deps),
    exportArchive: createExportArchive({ ...deps, redelivery }),
    sendWebhook: createSendWebhook({ ...deps, redelivery: webhookRedelivery }),
  };
}
