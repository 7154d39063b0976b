import type { CoreDeps } from '../core/ledger/core-deps.ts';
import { refresh } from '../core/ledger/reconcile-requests.ts';
import type { FunctionPorts } from '../core/rules/clock-and-log.ts';
import { allThose, type Those } from '../core/rules/lists.ts';
import type { NeedsOfAll } from '../core/rules/types.ts';
import { ScanListing } from '../core/scan/list-objects.ts';
import { createObjectStore, createTextFiles } from '../core/store/object-store.ts';
import { storesOf } from '../core/table/stores.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { createEventBridge } from '../frame/aws/event-bus.ts';
import { withInvocation, withMetrics } from '../frame/aws/function.ts';
import type { EventBus } from '../frame/net/ports.ts';
import * as beats from '../lists/beats.ts';
import * as stores from '../lists/stores.ts';
import { bucketClient, clock, heard, jobQueues, optional, queue, table } from '../parts.ts';

/** The schedule's target. */
export function create(
  deps: Parameters<typeof refresh>[0] &
    NeedsOfAll<Those<typeof beats, 'beat'>> &
    Pick<CoreDeps, 'metrics'> &
    FunctionPorts,
) {
  const run = async (_event: unknown): Promise<{ queued: number }> => {
    const queued = await refresh(deps);
    const counts: Record<string, number> = {};
    for (const [name, { beat }] of Object.entries(beats)) {
      const done = await beat(deps);
      Object.assign(counts, typeof done === 'number' ? { [name]: done } : done);
    }
    deps.log.info('refresh', { queued, ...counts });
    return { queued };
  };
  return withInvocation(deps.invocations, withMetrics(deps.metrics, run));
}

/** The account's event bus, if the stage publishes to it. */
function eventBus(): EventBus {
  if (optional('LFS_QUOTA_EVENT_BUS') === undefined) return { publish: async () => undefined };
  return createEventBridge();
}

/** Where hours of usage are written: it knows the bucket only if the stage writes some. */
function usageFiles() {
  if (optional('LFS_QUOTA_BUCKET') === undefined) return undefined;
  const client = bucketClient();
  const [listing, store] = [new ScanListing({ client }), createObjectStore({ client, clock })];
  return { listing, store, archives: createTextFiles({ client }) };
}

export function refreshDeps() {
  const tables = table();
  return {
    ...heard(tables),
    eventBus: eventBus(),
    usageFiles: usageFiles(),
    tokens: stores.tokens(tables),
    ...jobQueues(),
    queue: queue(),
    ...storesOf(allThose(beats, 'stores'), tables),
  };
}

export const handler = await deployed(create, refreshDeps);
