import { setImmediate as macrotask } from 'node:timers/promises';
import type { Operation } from '../../../cost/operations.ts';
import { createInvocations } from '../../../lambda/adapters/system/async-invocations.ts';
import { sha256Hex } from '../../../lambda/domain/hash.ts';
import { defaultSettings } from '../../../lambda/domain/settings.ts';
import { tokenIdOf } from '../../../lambda/domain/token.ts';
import type { Ledger } from '../../../lambda/ports/ledger.ts';
import type { Deps } from '../../../lambda/use-cases/deps.ts';
import { createPathScan } from '../../../lambda/use-cases/scan/path-scan.ts';
import { MemoryLedger } from '../../support/memory/ledger.ts';
import { MemoryObjectStore } from '../../support/memory/object-store.ts';
import { MemoryTokenStore } from '../../support/memory/token-store.ts';
import { Random } from '../../support/random.ts';
import { Scheduler } from '../../support/scheduler.ts';

export const tenant = 'acme';
export const token = `lfsq_${'a'.repeat(40)}`;

/** As many as SQS takes in one request. */
const messagesPerSend = 10;
const pagedReads = new Set(['reservations', 'repos', 'deletions']);
const tableRoundMs = 1;
const headMs = 1000;
const listMs = 1_000_000;

/** What one operation asked for, as the model writes it down. */
export type Asked = Pick<Operation, 'calls' | 'tableRounds' | 'headRounds' | 'listRounds'>;

/**
 * All ports in memory, with every call counted. A call of the table, a HEAD and a LIST take times of
 * different orders, so that the digits of the elapsed time tell how many of each waited for each other.
 */
export function countingDeps() {
  const scheduler = new Scheduler(new Random(1));
  const calls = new Map<string, number>();
  const travel = (durationMs: number) => new Promise<void>((resolve) => scheduler.after(durationMs, resolve));
  const counted = async <T>(name: string, durationMs: number, run: () => T | Promise<T>): Promise<T> => {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    await travel(durationMs);
    return run();
  };
  const memory = new MemoryLedger();
  const store = new MemoryObjectStore();
  const tokens = new MemoryTokenStore();
  const clock = { nowMs: () => scheduler.nowMs, sleep: travel };
  // Times are of another scale here, so leases and ages must not run out by them, and nothing is deferred.
  const unhurried = { reconcileLeaseMs: 1e12, scanWaitMs: 1e12, recountRestMs: 0, listRequestsPerHour: 1e12 };
  const settings = { ...defaultSettings, ...unhurried };
  const listing: Deps['listing'] = {
    listPage: (request) => counted('LIST', listMs, () => store.listPage(request)),
    listFolders: (request) => counted('LIST', listMs, () => store.listFolders(request)),
  };
  const deps: Deps = {
    ledger: countingLedger(memory, (name, run) => counted(name, tableRoundMs, run)),
    tokens: {
      find: (tokenId) => counted('findToken', tableRoundMs, () => tokens.find(tokenId)),
      put: (record) => counted('putToken', tableRoundMs, () => tokens.put(record)),
      delete: (key) => counted('deleteToken', tableRoundMs, () => tokens.delete(key)),
      list: (name) => counted('listTokens', tableRoundMs, () => tokens.list(name)),
    },
    admin: { sha256: async () => sha256Hex('another token') },
    store: {
      head: (key) => counted('HEAD', headMs, () => store.head(key)),
      delete: (key) => counted('DELETE', headMs, () => store.delete(key)),
    },
    listing,
    scan: createPathScan({ listing, clock, settings }),
    signer: {
      signUpload: async () => ({ href: 'https://store.example/put', header: {} }),
      signDownload: async () => ({ href: 'https://store.example/get', header: {} }),
    },
    queue: {
      request: () => counted('SEND', tableRoundMs, () => undefined),
      requestAll: async (requests) => {
        for (let sent = 0; sent < requests.length; sent += messagesPerSend)
          await counted('SEND', tableRoundMs, () => undefined);
      },
    },
    clock,
    ids: { random: (length) => sha256Hex(`${scheduler.nowMs}`).slice(0, length) },
    metrics: { increment: () => undefined, measure: () => undefined, flush: () => undefined },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    invocations: createInvocations(),
    settings,
  };

  async function run<T>(task: () => Promise<T>): Promise<T> {
    let outcome: { result: T } | { error: unknown } | undefined;
    task().then(
      (result) => {
        outcome = { result };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
    // A task may have to wait for Node itself before it asks for more.
    for (let turn = 0; !outcome && turn < 1000; turn += 1) {
      await scheduler.run({ eventsMax: 100_000, check: () => undefined });
      await macrotask();
    }
    if (!outcome) throw new Error('The task did not end.');
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }
  /** Runs an operation and tells what it asked for. */
  async function measure<T>(task: () => Promise<T>): Promise<{ result: T; asked: Asked }> {
    calls.clear();
    const beganMs = scheduler.nowMs;
    const result = await run(task);
    const elapsedMs = scheduler.nowMs - beganMs;
    return {
      result,
      asked: {
        calls: Object.fromEntries(calls),
        tableRounds: elapsedMs % headMs,
        headRounds: Math.floor(elapsedMs / headMs) % (listMs / headMs),
        listRounds: Math.floor(elapsedMs / listMs),
      },
    };
  }
  return { memory, store, tokens, deps, run, measure, advance: (ms: number) => run(() => travel(ms)) };
}

function countingLedger(
  memory: MemoryLedger,
  counted: (name: string, run: () => Promise<unknown>) => Promise<unknown>,
): Ledger {
  return new Proxy(memory, {
    get(target, property) {
      const name = String(property);
      const method = Reflect.get(target, property) as (...args: unknown[]) => unknown;
      if (!pagedReads.has(name))
        return (...args: unknown[]) => counted(name, () => method.apply(target, args) as Promise<unknown>);
      return async function* (...args: unknown[]) {
        for await (const page of method.apply(target, args) as AsyncIterable<unknown>) {
          await counted(name, async () => undefined);
          yield page;
        }
      };
    },
  }) as Ledger;
}

/** A tenant with a token, and a limit that it is far from. */
export async function createTenant(context: ReturnType<typeof countingDeps>): Promise<void> {
  const { memory, tokens, deps } = context;
  const nowMs = deps.clock.nowMs();
  const counted = { storedBytes: 0, objectCount: 0, countedAtMs: nowMs };
  const dueAtMs = nowMs + deps.settings.maxAgeMs;
  await memory.createTenant({ tenant, plan: null, limitBytes: 1e15, createdAtMs: nowMs, counted, dueAtMs });
  const ids = { tokenId: tokenIdOf(token), secretSha256: sha256Hex(token) };
  await tokens.put({ ...ids, tenant, scope: 'write', label: null, createdAtMs: nowMs });
}
