import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import * as z from 'zod';
import { deployed, storeEventsDeps } from '../compose.ts';
import { errorChain } from '../domain/error-chain.ts';
import { placeOf, type StoreChange } from '../domain/store-change.ts';
import { withInvocation } from '../runtime/with-invocation.ts';
import type { Deps } from '../use-cases/deps.ts';
import { mapLimited } from '../use-cases/map-limited.ts';
import { recordStoreEvents } from '../use-cases/recounts/record-store-events.ts';

const eventShape = z.object({
  eventName: z.string(),
  eventTime: z.iso.datetime(),
  s3: z.object({ object: z.object({ key: z.string(), size: z.int().nonnegative().optional() }) }),
});

/** What S3 sends: events or, when notifications are set up, a trial that says nothing. */
const messageShape = z.union([
  z.object({ Records: z.array(eventShape) }),
  z.object({ Event: z.literal('s3:TestEvent') }),
]);

/** What a batch of messages tells of one tenant. */
interface Told {
  readonly changes: StoreChange[];
  /** Messages that come again where this tenant's changes could not be noted. */
  readonly messageIds: Set<string>;
}

const tenantsAtOnce = 8;

/**
 * The consumer of what S3 tells of the bucket. What could not be noted comes again; what can't be read does too,
 * and ends in the dead-letter queue.
 */
export function create(
  deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'ids' | 'log' | 'invocations' | 'settings'>,
) {
  return withInvocation(deps.invocations, async (event: SQSEvent): Promise<SQSBatchResponse> => {
    const failed = new Set<string>();
    const fail = (messageIds: Iterable<string>, error: unknown) => {
      const ids = [...messageIds];
      deps.log.error('store events failed', {
        messageId: ids[0],
        messages: ids.length,
        reason: errorChain(error),
      });
      for (const id of ids) failed.add(id);
    };
    const byTenant = new Map<string, Told>();
    for (const { messageId, body } of event.Records) {
      try {
        for (const change of changesIn(body)) {
          const told = byTenant.get(change.tenant) ?? { changes: [], messageIds: new Set() };
          told.changes.push(change);
          told.messageIds.add(messageId);
          byTenant.set(change.tenant, told);
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

/**
 * The changes of repos that a message tells of.
 * @throws {SyntaxError | ZodError | URIError} where it is no message of S3.
 */
function changesIn(body: string): StoreChange[] {
  const message = messageShape.parse(JSON.parse(body));
  if (!('Records' in message)) return [];
  return message.Records.flatMap(({ eventName, eventTime, s3 }): StoreChange[] => {
    const place = placeOf(decodedKey(s3.object.key));
    if (!place) return [];
    const where = { ...place, atMs: Date.parse(eventTime) };
    if (!eventName.startsWith('ObjectCreated:')) return [{ ...where, kind: 'removed' }];
    return [{ ...where, kind: 'created', sizeBytes: s3.object.size ?? 0 }];
  });
}

/** S3 writes keys into events as a form does: with + for a space. */
function decodedKey(key: string): string {
  return decodeURIComponent(key.replaceAll('+', ' '));
}

export const handler = await deployed(create, storeEventsDeps);
