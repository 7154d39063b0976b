import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { requestFileDeletion } from '../../../../../lambda/core/ledger/empty-objects.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { LargeRepoStack, oidOf, repo } from '../../../../support/memory/large-repo-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
const day = 24 * hour;
const count = 12;

/** Says of each call whether the function lives before and after it. */
type Dying = (call: () => unknown) => unknown;

/** @returns the same object, whose methods die. */
function mortal<T extends object>(target: T, dying: Dying): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function'
        ? (...args: unknown[]) => dying(() => Reflect.apply(value, target, args))
        : value;
    },
  });
}

/** A function that lives for so many calls of its ports. The last one has its effect, and no answer. */
function livingFor(callsMax: number) {
  let calls = 0;
  const never = new Promise<never>(() => {});
  let die = () => {};
  const death = new Promise<void>((resolve) => {
    die = resolve;
  });
  const dying: Dying = (call) => {
    calls += 1;
    if (calls < callsMax) return call();
    die();
    if (calls > callsMax) return never;
    const result = call();
    return result instanceof Promise ? result.then(() => never) : result;
  };
  return { dying, death, calls: () => calls };
}

/** A repo of objects of 10 bytes, of which one's deletion is due. */
async function beginning(input: { kind: 'files' | 'lfs'; isLarge: boolean; isYoung: boolean }) {
  const { kind, isLarge, isYoung } = input;
  const stack = new LargeRepoStack({ largeRepoObjects: isLarge ? 4 : 1000, listRequestsPerHour: 1_000_000 });
  await stack.create(1_000);
  if (kind === 'files') await stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind });
  const names = Array.from({ length: count }, (_, index) => oidOf(index));
  stack.put(Object.fromEntries(names.map((name) => [`${repo}/${name}`, 10])));
  if (!isYoung) stack.nowMs += 9 * day;
  // The first count finds that it's large, and the second counts its shards.
  for (let counts = 0; counts < 2; counts += 1) await stack.reconcile('manual', true);
  await stack.pass(hour);
  expect((await stack.ledger.readRepo({ tenant, repo }))?.large !== undefined).toBe(isLarge);
  const [name = ''] = names;
  if (kind === 'lfs') await stack.delete(name);
  else await requestFileDeletion(stack.deps, { tenant, repo, objects: new Map([[name, 10]]) });
  return stack;
}

/** The function that handles the deletion dies. @returns the calls that it made. */
async function handled(stack: LargeRepoStack, callsMax: number): Promise<number> {
  const { dying, death, calls } = livingFor(callsMax);
  const { deps } = stack;
  const [ledger, store] = [mortal(deps.ledger, dying), mortal(deps.store, dying)];
  const request = { tenant, reason: 'delete', full: false } as const;
  const run = runReconcile({ ...deps, ledger, store }, { request, deadlineMs: stack.nowMs + 14 * minute });
  await Promise.race([run, death.then(() => setImmediate())]);
  return calls();
}

describe('a delete whose function dies after any call of its ports', () => {
  const kinds = ['files', 'lfs'] as const;
  const rows = kinds.flatMap((kind) =>
    [true, false].flatMap((isLarge) =>
      [true, false].flatMap((isYoung) =>
        [5 * minute, 28 * hour].map((laterMs) => ({ kind, isLarge, isYoung, laterMs })),
      ),
    ),
  );
  it.each(rows)(
    'is made up for ($kind, large: $isLarge, young: $isYoung, tried again after $laterMs ms)',
    async ({ laterMs, ...input }) => {
      const inAll = await handled(await beginning(input), Number.POSITIVE_INFINITY);
      expect(inAll).toBeGreaterThan(10);
      for (let calls = 1; calls <= inAll; calls += 1) {
        const stack = await beginning(input);
        await handled(stack, calls);
        // None of them is one that counts everything, as the schedule has it made once a day.
        for (const waitedMs of [laterMs, 5 * minute, 5 * minute, 2 * hour, 30 * hour, 5 * minute]) {
          stack.nowMs += waitedMs;
          await stack.reconcile('manual');
        }
        const record = await stack.ledger.readRepo({ tenant, repo });
        const found = { ...(await stack.usage()), objectCount: record?.objectCount };
        const bytes = 10 * (count - 1);
        expect({ calls, ...found }).toEqual({
          calls,
          committedBytes: bytes,
          storedBytes: bytes,
          objectCount: count - 1,
        });
        expect(await allPages(stack.ledger.reservations(tenant))).toEqual([]);
      }
    },
  );
});
