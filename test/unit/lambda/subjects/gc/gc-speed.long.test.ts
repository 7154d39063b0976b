import { expect, it } from 'vitest';
import type { Ledger } from '../../../../../lambda/core/ledger/ledger.ts';
import { keptUntilMs } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import type { ObjectStore } from '../../../../../lambda/core/store/rules/store.ts';
import { usualBounds } from '../../../../../lambda/subjects/gc/sweep-candidates.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { replacingDeps } from '../../../../support/memory/deps.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';
import { Random } from '../../../../support/random.ts';
import { Scheduler } from '../../../../support/scheduler.ts';
import { GcWorld, hour, repo } from './gc-world.ts';

const storeMs = 30;
const tableMs = 5;
/** The adapter of the ledger writes so many of what is gone at a time. */
const goneAtOnce = 16;
const keysPerDelete = 1_000;
/** A fiftieth of what is promised, which takes a while. */
const candidates = 20_000;
const allowedMs = 20 * minute;
const million = 1_000_000;

/** Every call of the store and of the table takes its time, by a clock that nothing else moves. */
function slowly(deps: Deps, scheduler: Scheduler): { deps: Deps; requests: Record<string, number> } {
  const requests: Record<string, number> = { HEAD: 0, DELETE: 0, LIST: 0 };
  const sleep = (ms: number) => new Promise<void>((resolve) => scheduler.after(ms, resolve));
  const asked = async <T>(name: string, times: number, answer: () => Promise<T>): Promise<T> => {
    requests[name] = (requests[name] ?? 0) + times;
    await sleep(times * storeMs);
    return answer();
  };
  const store: ObjectStore = {
    ...deps.store,
    head: (key) => asked('HEAD', 1, () => deps.store.head(key)),
    delete: (keys, options) =>
      asked('DELETE', Math.ceil(keys.length / keysPerDelete), () => deps.store.delete(keys, options)),
  };
  const ledger = new Proxy(deps.ledger, {
    get(target, name: keyof Ledger) {
      const method = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (input: never) => {
        const rounds = name === 'noteGone' ? Math.ceil((input as { oids: [] }).oids.length / goneAtOnce) : 1;
        const result = Reflect.apply(method, target, [input]) as Promise<unknown> | AsyncIterable<unknown>;
        if (result instanceof Promise) return sleep(rounds * tableMs).then(() => result);
        return (async function* () {
          for await (const page of result) {
            await sleep(tableMs);
            yield page;
          }
        })();
      };
    },
  });
  const clock = { ...deps.clock, nowMs: () => scheduler.nowMs, sleep };
  return { deps: replacingDeps(deps, { store, ledger, clock }), requests };
}

it.each([
  { title: 'a repo', largeRepoObjects: 1_000_000, kept: 1_000, headsMax: 0 },
  { title: 'a large repo', largeRepoObjects: 20_000, kept: 12_000, headsMax: candidates },
])(
  'a million candidates of $title take 20 minutes at 30 ms a request, or less',
  async ({ largeRepoObjects, kept, headsMax }) => {
    const world = new GcWorld({ largeRepoObjects, reconcileRestMs: minute });
    const oids = Array.from({ length: candidates + kept }, (_, index) => sha256Hex(`object ${index}`));
    const key = (oid: string) => `${tenant}/${repo}/${oid}`;
    for (const oid of oids) world.objects.put(key(oid), 1, undefined, world.nowMs - 48 * hour);
    await world.create();
    for (let count = 0; count < 3; count += 1) {
      world.nowMs += hour;
      await world.consume({ full: true });
    }
    expect((await world.ledger.readRepo({ tenant, repo }))?.large !== undefined).toBe(headsMax > 0);
    await world.opened();
    const scheduler = new Scheduler(new Random(1));
    scheduler.nowMs = world.nowMs;
    const { deps, requests } = slowly(world.deps, scheduler);
    await world.runKeeping(oids.slice(candidates));
    let beganMs = 0;
    let endedMs = 0;
    const claimDeletion = world.ledger.claimDeletion.bind(world.ledger);
    world.ledger.claimDeletion = (input) => {
      beganMs ||= scheduler.nowMs;
      return claimDeletion(input);
    };
    const consume = async () => {
      const request = { tenant, reason: 'unfinished', full: false } as const;
      while ((await world.gc()).state !== 'done') {
        await runReconcile(deps, { request, deadlineMs: scheduler.nowMs + 14 * minute });
        const { state, endedAtMs } = await world.gc();
        if (state === 'done') endedMs = endedAtMs ?? 0;
        // Until the queue's next message.
        else await deps.clock.sleep(35_000);
      }
    };
    await Promise.all([consume(), scheduler.run({ eventsMax: 1e7 })]);
    expect(await world.gc()).toMatchObject({ progress: { deleted: { objectCount: candidates } } });
    expect(world.objects.objectCount).toBe(kept);
    expect(endedMs - beganMs).toBeLessThanOrEqual((allowedMs * candidates) / million);
    expect(requests['DELETE']).toBeLessThanOrEqual(candidates / keysPerDelete + 20);
    expect(requests['HEAD']).toBe(headsMax);
  },
);

it('so many may be named that their records, which are kept for a minute, do not slow it down', () => {
  const keptMs = keptUntilMs(defaultSettings, 0);
  expect(usualBounds.namedObjectsMax / keptMs).toBeGreaterThanOrEqual(million / allowedMs);
});
