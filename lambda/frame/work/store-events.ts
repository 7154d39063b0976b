import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { decodeStoreEvents, recordStoreEvents } from '../../core/ledger/reconcile-requests.ts';
import type { StoreChange } from '../../core/ledger/rules/reservation.ts';
import { mapLimited } from '../../core/rules/async.ts';
import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { withInvocation } from '../aws/function.ts';

/** What a batch of messages reports about one tenant, and in which of them. */
interface TenantChanges {
  readonly changes: StoreChange[];
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
    const unlessItFails = async (messageIds: ReadonlySet<string>, work: () => unknown) => {
      try {
        await work();
      } catch (error) {
        const [messageId] = messageIds;
        deps.log.error('store events failed', { messageId, messages: messageIds.size, error });
        for (const id of messageIds) failed.add(id);
      }
    };
    const byTenant = new Map<string, TenantChanges>();
    for (const { messageId, body } of event.Records)
      await unlessItFails(new Set([messageId]), () => {
        for (const change of decodeStoreEvents(body, keyOf)) {
          const reported = byTenant.get(change.tenant) ?? { changes: [], messageIds: new Set() };
          reported.changes.push(change);
          reported.messageIds.add(messageId);
          byTenant.set(change.tenant, reported);
        }
      });
    await mapLimited([...byTenant], tenantsAtOnce, ([tenant, { changes, messageIds }]) =>
      unlessItFails(messageIds, () => recordStoreEvents(deps, { tenant, changes })),
    );
    return { batchItemFailures: [...failed].map((itemIdentifier) => ({ itemIdentifier })) };
  });
}
