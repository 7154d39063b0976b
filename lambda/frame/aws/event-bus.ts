import {
  EventBridgeClient,
  type EventBridgeClientConfig,
  PutEventsCommand,
} from '@aws-sdk/client-eventbridge';
import { calling, clientOptions } from '../../core/table/sdk.ts';
import type { EventBus, StageEvent } from '../net/ports.ts';

/** What rules match on. */
const eventSource = 'lfs-quota';

/** Entries that EventBridge takes in one request, at most. */
const entriesMax = 10;

/** What fails is handed over again by the next run of the schedule. */
const limits = { attemptsMax: 3, connectMs: 1000, answerMs: 3000 };

/**
 * The default event bus of the account.
 *
 * @param config goes before what the environment says.
 */
export function createEventBridge(config: EventBridgeClientConfig = {}): EventBus {
  const client = new EventBridgeClient({ ...clientOptions(limits), ...config });
  return {
    async publish(events) {
      for (let begin = 0; begin < events.length; begin += entriesMax)
        await putEvents(client, events.slice(begin, begin + entriesMax));
    },
  };
}

async function putEvents(client: EventBridgeClient, events: readonly StageEvent[]): Promise<void> {
  const Entries = events.map(({ id, type, timestamp, data }) => ({
    Source: eventSource,
    DetailType: type,
    Time: new Date(timestamp),
    Detail: JSON.stringify({ id, timestamp, ...data }),
  }));
  const command = new PutEventsCommand({ Entries });
  const asked = { title: 'EventBridge', operation: 'PutEvents' };
  const { FailedEntryCount } = await calling(asked, () => client.send(command));
  if (FailedEntryCount !== 0)
    throw new Error(`EventBridge did not take ${FailedEntryCount} of ${events.length} events.`);
}
