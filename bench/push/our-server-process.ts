import { join } from 'node:path';
import { BucketClient } from '../../lambda/adapters/s3/client.ts';
import { S3ObjectStore } from '../../lambda/adapters/s3/object-store.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import { systemIds } from '../../lambda/adapters/system/ids.ts';
import { createInvocations } from '../../lambda/adapters/system/invocations.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import type { Log } from '../../lambda/ports/log.ts';
import { createTenant } from '../../lambda/use-cases/access/create-tenant.ts';
import { createToken } from '../../lambda/use-cases/access/create-token.ts';
import { reportsFailure, toSqsEvent } from '../../local/background/sqs-event.ts';
import { composeEmbedded } from '../../local/compose.ts';
import { openDatabase } from '../../local/data/database.ts';
import { createFunctions } from '../../local/functions.ts';
import { openHttpFront } from '../../local/http/front.ts';
import { lambdaContext } from '../../local/lambda-context.ts';
import { Turns } from '../../local/turns.ts';
import type { Child } from '../child/child.ts';
import { serve } from '../child/serve.ts';
import { CollectingQueue } from './collecting-queue.ts';
import { bucket, credentials, region, tenant } from './world.ts';

/** Our API in its own process: the embedded stack's functions and table, but with another store and our own queue. */
export type OurServerProcess = Child<typeof api>;

const timeLimitMs = 15 * 60_000;
/** A recount may ask for another one. */
const recountsMax = 20;

const queue = new CollectingQueue();
let recount: ((message: Parameters<typeof toSqsEvent>[0]) => Promise<unknown>) | undefined;

const api = {
  /** @returns the API's port, and a token that may write. */
  start: async ({
    storeUrl,
    folder,
  }: {
    storeUrl: string;
    folder: string;
  }): Promise<{ port: number; token: string }> => {
    const [clock, ids, turns, log] = [systemClock, systemIds, new Turns(), loudLog];
    const place = { bucket, region, endpoint: storeUrl, forcePathStyle: true };
    const { deps: embedded } = composeEmbedded({
      database: await openDatabase(join(folder, 'table'), { turns }),
      store: { url: storeUrl, bucket, credentials, head: () => undefined },
      queue,
      adminToken: 'bench-admin-token-0123456789abcdef',
      invocations: createInvocations(),
      // Recounts run when they are asked for, and only then.
      settings: { ...defaultSettings, recountRestMs: 0 },
      clock,
      ids,
      log,
      turns,
    });
    // The embedded store answers HEAD in its own process; this one is elsewhere, as on AWS.
    const client = new BucketClient({ ...place, credentials: async () => credentials });
    const deps = { ...embedded, store: new S3ObjectStore({ client, clock }) };
    const functions = createFunctions(deps);
    recount = (message) =>
      functions.reconcile(toSqsEvent(message), lambdaContext({ functionName: 'reconcile', timeLimitMs }));
    await createTenant(deps, { tenant, plan: null, limitBytes: 1e15 });
    const { token } = await createToken(deps, { tenant, scope: 'write', label: null });
    const front = { port: 0, functions: Promise.resolve(functions.http), clock, log, turns };
    return { port: (await openHttpFront(front)).port, token };
  },
  takeQueueSends: () => queue.takeSends(),
  /** Runs the recounts that wait, and those that they ask for. */
  settle: async () => {
    for (let run = 0; run < recountsMax; run += 1) {
      const waiting = queue.takeWaiting();
      if (waiting.length === 0) return;
      for (const message of waiting) {
        if (reportsFailure(await recount?.(message))) throw new Error('A recount failed.');
      }
    }
    throw new Error(`Recounts did not come to rest in ${recountsMax} runs.`);
  },
};

/** What a healthy run does not log: the benchmark must not measure errors. */
const loudLog: Log = {
  info: () => {},
  warn: (message, fields) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`),
  error: (message, fields) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`),
};

serve(api);
