import { join } from 'node:path';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import { systemIds } from '../../lambda/adapters/system/ids.ts';
import type { createInvocations } from '../../lambda/adapters/system/invocations.ts';
import type { Settings } from '../../lambda/domain/settings.ts';
import type { Log } from '../../lambda/ports/log.ts';
import type { createTenant } from '../../lambda/use-cases/access/create-tenant.ts';
import type { createToken } from '../../lambda/use-cases/access/create-token.ts';
import type { Deps } from '../../lambda/use-cases/deps.ts';
import type { QueueMessage } from '../../local/background/queue-message.ts';
import { reportsFailure, toSqsEvent } from '../../local/background/sqs-event.ts';
import type { composeEmbedded } from '../../local/compose.ts';
import type { openDatabase } from '../../local/data/database.ts';
import type { createFunctions } from '../../local/functions.ts';
import type { openHttpFront } from '../../local/http/front.ts';
import { lambdaContext } from '../../local/lambda-context.ts';
import { Turns } from '../../local/turns.ts';
import { CollectingQueue } from './collecting-queue.ts';
import { bucket, credentials, tenant } from './world.ts';

/** The parts of the embedded stack, of this commit or of an older one. */
export interface StackParts {
  readonly openDatabase: typeof openDatabase;
  readonly composeEmbedded: typeof composeEmbedded;
  readonly createFunctions: typeof createFunctions;
  readonly openHttpFront: typeof openHttpFront;
  readonly createTenant: typeof createTenant;
  readonly createToken: typeof createToken;
  readonly createInvocations: typeof createInvocations;
  readonly defaultSettings: Settings;
  /** Asks a store that is not in this process for its objects. */
  readonly storeOf: (input: { deps: Deps; storeUrl: string }) => Deps['store'];
}

const timeLimitMs = 15 * 60_000;
/** A recount may ask for another one. */
const recountsMax = 20;

/** The API in a child process: the embedded stack's functions and table, but with another store and a queue that counts. */
export function ourApi(parts: StackParts) {
  const queue = new CollectingQueue();
  let recount: ((message: QueueMessage) => Promise<unknown>) | undefined;
  return {
    /** @returns the API's port, and a token that may write. */
    start: async (place: { storeUrl: string; folder: string }): Promise<{ port: number; token: string }> => {
      const [deps, turns] = await compose(parts, { ...place, queue });
      const functions = parts.createFunctions(deps);
      recount = (message) =>
        functions.reconcile(toSqsEvent(message), lambdaContext({ functionName: 'reconcile', timeLimitMs }));
      await parts.createTenant(deps, { tenant, plan: null, limitBytes: 1e15 });
      const { token } = await parts.createToken(deps, { tenant, scope: 'write', label: null });
      const { clock, log } = deps;
      const front = { port: 0, functions: Promise.resolve(functions.http), clock, log, turns };
      return { port: (await parts.openHttpFront(front)).port, token };
    },
    takeQueueSends: (): number => queue.takeSends(),
    /** Runs the recounts that wait, and those that they ask for. */
    settle: async (): Promise<void> => {
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
}

async function compose(
  parts: StackParts,
  input: { storeUrl: string; folder: string; queue: CollectingQueue },
): Promise<[Deps, Turns]> {
  const { storeUrl, queue } = input;
  const turns = new Turns();
  const { deps } = parts.composeEmbedded({
    database: await parts.openDatabase(join(input.folder, 'table')),
    store: { url: storeUrl, bucket, credentials, head: () => undefined },
    queue,
    exportQueue: { send: async () => {} },
    webhookQueue: { send: async () => {} },
    queueGauges: [],
    allowsLoopbackWebhooks: false,
    issuers: [],
    adoptedRepos: [],
    gitHosts: [],
    adminToken: 'bench-admin-token-0123456789abcdef',
    invocations: parts.createInvocations(),
    // Recounts run when they are asked for, and only then.
    settings: { ...parts.defaultSettings, recountRestMs: 0 },
    clock: systemClock,
    ids: systemIds,
    log: loudLog,
    turns,
  });
  return [{ ...deps, store: parts.storeOf({ deps, storeUrl }) }, turns];
}

const complain = (message: string, fields: Record<string, unknown> = {}) =>
  void process.stderr.write(`${message} ${JSON.stringify(fields)} ${fields['error'] ?? ''}\n`);

/** A healthy run logs no warning: the benchmark must not measure errors. */
const loudLog: Log = { info: () => {}, warn: complain, error: complain };
