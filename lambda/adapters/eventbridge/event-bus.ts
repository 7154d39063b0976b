import type { WarningEvent } from '../../domain/warning.ts';
import type { EventBus } from '../../ports/event-bus.ts';
import { awsDomain } from '../aws-http/domain.ts';
import type { Exchange } from '../aws-http/exchange.ts';
import { AwsJsonClient } from '../aws-http/json-client.ts';
import type { AwsCredentials } from '../aws-http/sigv4.ts';

/** What rules match on. */
const eventSource = 'lfs-quota';

/** Entries that EventBridge takes in one request, at most. */
const entriesMax = 10;

/** What fails is handed over again by the next run of the schedule. */
const limits = { attemptsMax: 3, connectMs: 1000, answerMs: 3000 };

/** How EventBridge is reached. */
export interface EventBusPlace {
  readonly region: string;
  /** Base URL of what stands in for EventBridge. */
  readonly endpoint?: string | undefined;
  /** Called for each attempt. */
  readonly credentials: () => AwsCredentials;
}

/**
 * The default event bus of the account.
 *
 * @param exchange replaces the network.
 */
export function createEventBridge(place: EventBusPlace, exchange?: Exchange): EventBus {
  const { region, endpoint = `https://events.${region}.${awsDomain(region)}`, credentials } = place;
  const client = new AwsJsonClient(
    {
      title: 'EventBridge',
      signingName: 'events',
      targetPrefix: 'AWSEvents',
      jsonVersion: '1.1',
      region,
      endpoint,
      credentials,
    },
    exchange,
  );
  return {
    async publish(events) {
      for (let begin = 0; begin < events.length; begin += entriesMax)
        await putEvents(client, events.slice(begin, begin + entriesMax));
    },
  };
}

async function putEvents(client: AwsJsonClient, events: readonly WarningEvent[]): Promise<void> {
  const Entries = events.map(({ id, type, timestamp, data }) => ({
    Source: eventSource,
    DetailType: type,
    Time: Date.parse(timestamp) / 1000,
    Detail: JSON.stringify({ id, timestamp, ...data }),
  }));
  const answer = await client.call('PutEvents', { Entries }, limits);
  if (answer['FailedEntryCount'] !== 0)
    throw new Error(
      `EventBridge did not take ${String(answer['FailedEntryCount'])} of ${events.length} events.`,
    );
}
