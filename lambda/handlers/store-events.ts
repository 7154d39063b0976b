import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { deployed } from '../aws/deployed.ts';
import { withInvocation } from '../aws/function.ts';
import { storeEventsDeps } from '../compositions/store-events.ts';
import type { CoreDeps } from '../ledger/core-deps.ts';
import { decodeStoreEvents, recordStoreEvents } from '../ledger/reconcile-requests.ts';
import type { StoreChange } from '../ledger/rules/reservation.ts';
import { mapLimited } from '../rules/async.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';
import type { FilePorts } from '../store/rules/file-ports.ts';

/** What a batch of messages reports about one tenant. */
interface TenantChanges {
  readonly changes: StoreChange[];
  /** Messages to redeliver when this tenant's changes could not be recorded. */
  readonly messageIds: Set<string>;
}

const tenantsAtOnce = 8;

/**
 * The consumer of the bucket's event notifications. A message that could not be recorded is redelivered. So is
 * one that cannot be read, until it ends in the dead-letter queue.
 */
export function create(
  deps: Pick<CoreDeps, 'ledger' | 'queue' | 'clock' | 'ids' | 'log' | 'settings'> &
    Pick<FilePorts, 'adoptedRepos'> &
    FunctionPorts,
) {
  const keyOf = (storedKey: string) => deps.adoptedRepos.keyOf(storedKey);
  return withInvocation(deps.invocations, async (event: SQSEvent): Promise<SQSBatchResponse> => {
    const failed = new Set<string>();
    const fail = (messageIds: Iterable<string>, error: unknown) => {
      const ids = [...messageIds];
      deps.log.error('store events failed', {
        messageId: ids[0],
        messages: ids.length,
        error,
      });
      for (const id of ids) failed.add(id);
    };
    const byTenant = new Map<string, TenantChanges>();
    for (const { messageId, body } of event.Records) {
      try {
        for (const change of decodeStoreEvents(body, keyOf)) {
          const reported = byTenant.get(change.tenant) ?? { changes: [], messageIds: new Set() };
          reported.changes.push(change);
          reported.messageIds.add(messageId);
          byTenant.set(change.tenant, reported);
        }
      } catch (error) {
        fail([messageId], error);
      }
    }
    await mapLimited([...byTenant], tenantsAtOnce, async ([tenant, { changes, messageIds }]) => {
      try {
        await recordStoreEvents(deps, { tenant, changes });
      } catch (error) {
        fail(messageIds, error);
      }
    });
    return { batchItemFailures: [...failed].map((itemIdentifier) => ({ itemIdentifier })) };
  });
}

export const handler = await deployed(create, storeEventsDeps);
