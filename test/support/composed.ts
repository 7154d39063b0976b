import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { createDynamoDb } from '../../lambda/core/table/client.ts';
import { systemClock, systemIds } from '../../lambda/frame/aws/clock-and-ids.ts';
import { createInvocations } from '../../lambda/frame/aws/invocation-log.ts';
import { queuesBy } from '../../local/background/queues.ts';
import { composeEmbedded, embeddedStore } from '../../local/compose.ts';
import { Turns } from '../../local/turns.ts';
import { recordingLog } from './recording-log.ts';
import { bucket, credentials } from './store-fixture.ts';

/** The stack over this store, as if nobody reached its public URL from here. */
export function composed(store: Parameters<typeof embeddedStore>[0], { writesUsage = false } = {}) {
  return composeEmbedded({
    database: {
      client: createDynamoDb({ region: 'local', credentials }),
      tableName: 'table',
    },
    store: embeddedStore(store, { bucket, credentials }),
    url: 'http://127.0.0.1:1',
    ...queuesBy(async () => undefined),
    mailer: { send: async () => {} },
    queueGauges: [],
    allowsLoopbackWebhooks: false,
    writesUsage,
    adoptedRepos: [],
    adminToken: 'admin',
    clock: systemClock,
    ids: systemIds,
    log: recordingLog().log,
    invocations: createInvocations(),
    settings: defaultSettings,
    turns: new Turns(),
  });
}
