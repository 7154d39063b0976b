import { expect, it } from 'vitest';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { fromStored } from '../../../../../lambda/core/table/stored-names.ts';
import type { Operations, TableClient } from '../../../../../lambda/core/table/table.ts';
import { createTenant } from '../../../../../lambda/frame/access/tenants.ts';
import { usagePage } from '../../../../../lambda/subjects/history/byte-hours.ts';
import type { UsageBody } from '../../../../../lambda/subjects/history/byte-hours-contract.ts';
import { finalUntilMs, hourMs } from '../../../../../lambda/subjects/history/rules/byte-hours.ts';
import { storesOn } from '../../../../../local/stores.ts';
import { ManualClock, memoryDeps, replacingDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { oidOf } from '../../../../support/memory/stack.ts';
import { memoryTable } from '../../../../support/memory/table.ts';
import { Random } from '../../../../support/random.ts';

const day = 24 * hourMs;

/** What a function that is dead gets of each request. */
class DeadError extends Error {}

type Request = () => Promise<unknown>;

/** A way in which the month goes wrong. */
interface Mutant {
  readonly history?: (history: ReturnType<typeof storesOn>['history']) => object;
}

/** One function at a time, which dies at a request: before it, after it, or it lands once others have run. */
class DyingClient implements TableClient {
  readonly late: Request[] = [];
  #left = Number.POSITIVE_INFINITY;
  #how: 'before' | 'after' | 'late' = 'before';

  readonly #client: TableClient;

  constructor(client: TableClient) {
    this.#client = client;
  }

  live(left = Number.POSITIVE_INFINITY, how: 'before' | 'after' | 'late' = 'before'): void {
    [this.#left, this.#how] = [left, how];
  }

  async send<O extends keyof Operations>(operation: O, input: Operations[O][0]): Promise<Operations[O][1]> {
    const request = () => this.#client.send(operation, input);
    this.#left -= 1;
    if (this.#left > 0) return request();
    if (this.#left === 0 && this.#how === 'after') await request();
    if (this.#left === 0 && this.#how === 'late' && operation === 'UpdateItem') this.late.push(request);
    throw new DeadError('The function is dead.');
  }
}

/** Some tenants over some days: reconciles at random times, kills, messages that come twice, writes that land late. */
async function month(given: { seed: number; tenants: number; days: number; mutant?: Mutant }) {
  const { seed, tenants, days, mutant = {} } = given;
  const random = new Random(seed);
  const table = memoryTable();
  const client = new DyingClient(table.client);
  const [clock, objects] = [new ManualClock(), new MemoryObjectStore()];
  const stores = storesOn({ client, tableName: table.tableName });
  const settings = { ...defaultSettings, reconcileRestMs: 0, listRequestsPerHour: 1_000_000 };
  const made = memoryDeps({ ...stores, clock, objects, settings });
  const history = { ...stores.history, ...mutant.history?.(stores.history) } as typeof stores.history;
  const deps = replacingDeps(made, { history });
  const beganMs = clock.nowMs();

  const steps = new Map<string, { second: number; bytes: number; epoch: number }[]>();
  table.store.watch((change) => {
    const after = change.after && fromStored(change.after);
    if (after?.['sk'] !== 'TENANT') return;
    const [epoch, scannedAtMs, bytes] = [
      after['appliedEpoch'],
      after['scannedAtMs'],
      after['storedBytes'],
    ].map(Number);
    const of = steps.get(String(after['tenant'])) ?? [];
    steps.set(String(after['tenant']), of);
    if (of.at(-1)?.epoch !== epoch)
      of.push({ second: Math.floor(Number(scannedAtMs) / 1000), bytes: Number(bytes), epoch: Number(epoch) });
  });

  const names = Array.from({ length: tenants }, (_, index) => `t${String(index).padStart(3, '0')}`);
  for (const tenant of names) await createTenant(deps, { tenant, plan: null, limitBytes: null });
  const gaps = new Map(
    names.map((tenant) => [tenant, random.pick([hourMs, 6 * hourMs, 6 * hourMs, 8 * day])]),
  );
  const due = new Map(names.map((tenant) => [tenant, beganMs + random.int(1, day)]));
  const published = new Map<string, string>();
  const read = async (fromMs: number, toMs: number) => {
    const all: UsageBody[] = [];
    for (let after: Awaited<ReturnType<typeof usagePage>>['next']; ; ) {
      const { usage, next } = await usagePage(deps, { fromMs, toMs, limit: 1000, after });
      all.push(...usage);
      after = next;
      if (!next) return all;
    }
  };
  const firstMs = beganMs - (beganMs % hourMs);
  let publishedMs = firstMs;
  for (;;) {
    const [tenant, atMs] = [...due].reduce((a, b) => (b[1] < a[1] ? b : a));
    if (atMs > beganMs + days * day) break;
    clock.advance(Math.max(0, atMs - clock.nowMs()));
    due.set(tenant, atMs + random.int(1000, 2 * (gaps.get(tenant) ?? day)));
    // Sizes above which a sum isn't a number any more.
    if (random.chance(0.7)) objects.put(`${tenant}/app/${oidOf(random.int(1, 5))}`, random.int(0, 9e12));
    if (random.chance(0.2)) await objects.delete([`${tenant}/app/${oidOf(random.int(1, 5))}`]);
    for (let message = 0; message < (random.chance(0.3) ? 3 : 1); message += 1) {
      if (random.chance(0.4)) client.live(random.int(1, 14), random.pick(['before', 'after', 'late']));
      const run = runReconcile(deps, {
        request: { tenant, reason: 'manual', full: true },
        deadlineMs: clock.nowMs() + 60_000,
      });
      await run.catch((error) => {
        if (!(error instanceof Error)) throw error;
      });
      client.live();
      // Its lease is over, and so is that of one that died.
      clock.advance(random.int(16_000, 40_000));
      while (client.late.length > 0 && random.chance(0.5))
        await client.late
          .shift()?.()
          .catch(() => undefined);
    }
    const untilMs = finalUntilMs(clock.nowMs());
    if (untilMs < publishedMs + 12 * hourMs) continue;
    for (const { id, byteSeconds } of await read(publishedMs, untilMs)) published.set(id, byteSeconds);
    publishedMs = untilMs;
  }
  clock.advance(3 * hourMs);
  const all = await read(firstMs, finalUntilMs(clock.nowMs()));
  return { all, steps, published };
}

/** From the first second of an hour to the last: each second has what was stored by then. */
function integralOf(steps: readonly { second: number; bytes: number }[], startMs: number): bigint {
  const [from, to] = [startMs / 1000, startMs / 1000 + 3600];
  return steps.reduce((sum, { second, bytes }, index) => {
    const [begin, end] = [Math.max(from, second), Math.min(to, steps[index + 1]?.second ?? to)];
    return end > begin ? sum + BigInt(bytes) * BigInt(end - begin) : sum;
  }, 0n);
}

/** Hours that aren't what scans saw, and those that changed after they were final. */
function mistakesOf({ all, steps, published }: Awaited<ReturnType<typeof month>>) {
  const wrong = all.filter(
    ({ tenant, hour, byteSeconds }) =>
      String(integralOf(steps.get(tenant) ?? [], Date.parse(hour))) !== byteSeconds,
  );
  const changed = all.filter(
    ({ id, byteSeconds }) => (published.get(id) ?? String(byteSeconds)) !== String(byteSeconds),
  );
  return { wrong: wrong.length, changed: changed.length };
}

it('100 tenants over 30 days, under kills and repeated messages: each hour is what scans saw, to the byte-second', async () => {
  const found = await month({ seed: 1, tenants: 100, days: 30 });
  expect(mistakesOf(found)).toEqual({ wrong: 0, changed: 0 });
  expect(found.all.length).toBeGreaterThanOrEqual(100 * 30 * 24);
  expect(found.published.size).toBeGreaterThan(100 * 29 * 24);
  const steps = [...found.steps.values()].flat();
  expect(steps.length).toBeGreaterThan(10_000);
});

const mutants: Record<string, Mutant> = {
  'a count is replaced though it was never noted': {
    history: () => ({ hasNoted: async () => ({ day: '', item: undefined, isNoted: true }) }),
  },
  'the last count is not looked at if it was not noted': {
    history: (history) => ({
      hours: async (input: Parameters<typeof history.hours>[0]) => ({
        ...(await history.hours(input)),
        hasNoted: () => true,
      }),
    }),
  },
  'what was stored before the first step of an hour is left out': {
    history: (history) => ({
      note: (...[count, read]: Parameters<typeof history.note>) =>
        history.note({ ...count, carriedBytes: 0 }, read),
    }),
  },
  'hours without a step have nothing': {
    history: () => ({ bytesBefore: async () => 0 }),
  },
};

it.each(Object.entries(mutants))('is seen: %s', async (_, mutant) => {
  const { wrong, changed } = mistakesOf(await month({ seed: 2, tenants: 12, days: 10, mutant }));
  expect(wrong + changed).toBeGreaterThan(0);
});
