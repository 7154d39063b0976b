import type { Operation } from '../../../cost/operations.ts';
import { type CallTimes, CountingDeps } from '../../support/memory/counting-deps.ts';
import { tokenRecord } from '../../support/token-record.ts';

export const tenant = 'acme';
export const token = `lfsq_${'a'.repeat(40)}`;

/** Of different orders: the digits of the elapsed time show how many calls of each kind waited for each other. */
const times: CallTimes = { tableMs: 1, headMs: 1000, listMs: 1_000_000 };
/** With such times no lease and no age may expire, and nothing may be deferred. */
const unhurried = {
  reconcileLeaseMs: 1e12,
  scanWaitMs: 1e12,
  recountRestMs: 0,
  listRequestsPerHour: 1e12,
  batchTimeLimitMs: 1e12,
};

/** The calls of one operation, in the form of the model. */
export type Asked = Pick<Operation, 'calls' | 'tableRounds' | 'headRounds' | 'listRounds'>;

/** Counts the calls of a task to table, store and queue. */
export class Counter extends CountingDeps {
  /** A tenant with a token, far below its limit. @param of other times than by which {@link ask} tells rounds. */
  static async create(of = times): Promise<Counter> {
    const counter = new Counter(of, unhurried);
    const { ledger, tokens, deps } = counter;
    const nowMs = deps.clock.nowMs();
    const counted = { storedBytes: 0, objectCount: 0, countedAtMs: nowMs };
    const dueAtMs = nowMs + deps.settings.maxAgeMs;
    await ledger.createTenant({ tenant, plan: null, limitBytes: 1e15, createdAtMs: nowMs, counted, dueAtMs });
    // Its uses are a line of their own.
    await tokens.put(tokenRecord(token, { tenant, createdAtMs: nowMs, lastUsedAtMs: 9e15 }));
    return counter;
  }

  async ask<T>(task: () => Promise<T>): Promise<{ result: T; asked: Asked }> {
    const { result, elapsedMs } = await this.measure(task);
    const calls: Record<string, number> = {};
    for (const { name } of this.calls) calls[name] = (calls[name] ?? 0) + 1;
    return {
      result,
      asked: {
        calls,
        tableRounds: elapsedMs % times.headMs,
        headRounds: Math.floor(elapsedMs / times.headMs) % (times.listMs / times.headMs),
        listRounds: Math.floor(elapsedMs / times.listMs),
      },
    };
  }
}
