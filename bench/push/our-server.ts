import { join } from 'node:path';
import { createTenant } from '../../lambda/accounts/tenants.ts';
import { createToken } from '../../lambda/accounts/tokens.ts';
import { systemClock, systemIds } from '../../lambda/aws/clock-and-ids.ts';
import { createInvocations } from '../../lambda/aws/invocation-log.ts';
import { runReconcile } from '../../lambda/ledger/run-reconcile.ts';
import type { Log } from '../../lambda/rules/clock-and-log.ts';
import { defaultSettings } from '../../lambda/rules/settings.ts';
import { BucketClient } from '../../lambda/store/bucket-client.ts';
import { createObjectStore } from '../../lambda/store/object-store.ts';
import { queuesBy } from '../../local/background/queues.ts';
import { composeEmbedded, createFunctions, embeddedStore } from '../../local/compose.ts';
import { openDatabase } from '../../local/data/database.ts';
import { openHttpFront } from '../../local/front.ts';
import { Turns } from '../../local/turns.ts';
import type { Child } from '../processes.ts';
import { serve } from '../serve.ts';
import { bucket, bucketAt, credentials } from '../store.ts';

const tenant = 'bench';
const complain = (message: string, fields: Record<string, unknown> = {}) =>
  void process.stderr.write(`${message} ${JSON.stringify(fields)} ${fields['error'] ?? ''}\n`);
/** A healthy run logs no warning: the benchmark must not measure errors. */
const log: Log = { info: () => {}, warn: complain, error: complain };

interface Place {
  readonly storeUrl: string;
  readonly folder: string;
}

let reconcile: (() => Promise<'done' | 'requeued'>) | undefined;

/** The functions of the embedded stack with their table, but with a store that is elsewhere, as on AWS. */
async function compose({ storeUrl, folder }: Place) {
  const turns = new Turns();
  const { deps } = composeEmbedded({
    database: await openDatabase(join(folder, 'table')),
    store: embeddedStore({ url: storeUrl, head: () => undefined }, { bucket, credentials }),
    url: storeUrl,
    // No reconcile starts in the middle of what is measured.
    ...queuesBy(async () => {}),
    mailer: { send: async () => {} },
    queueGauges: [],
    allowsLoopbackWebhooks: false,
    issuers: [],
    adoptedRepos: [],
    gitHosts: [],
    adminToken: 'bench-admin-token-0123456789abcdef',
    invocations: createInvocations(),
    settings: { ...defaultSettings, reconcileRestMs: 0 },
    clock: systemClock,
    ids: systemIds,
    log,
    turns,
  });
  const client = new BucketClient(bucketAt(storeUrl));
  return { deps: { ...deps, store: createObjectStore({ client, clock: systemClock }) }, turns };
}

const api = {
  /** @returns the API's port, and a token that can write. */
  start: async (place: Place): Promise<{ port: number; token: string }> => {
    const { deps, turns } = await compose(place);
    const functions = createFunctions(deps);
    const request = { tenant, reason: 'verify' as const, full: false };
    reconcile = () => runReconcile(deps, { request, deadlineMs: Date.now() + 15 * 60_000 });
    await createTenant(deps, { tenant, plan: null, limitBytes: 1e15 });
    const { token } = await createToken(deps, { tenant, scope: 'write', label: null });
    const http = Promise.resolve(functions.http);
    const front = await openHttpFront({ port: 0, functions: http, clock: systemClock, log, turns });
    return { port: front.port, token };
  },
  /** The reconcile that a push asks for. */
  settle: async (): Promise<void> => {
    if ((await reconcile?.()) !== 'done') throw new Error('The reconcile failed.');
  },
};

/** This project's API: the deployed handlers, with a table in the same process. */
export type OurServer = Child<typeof api>;

serve(api);
