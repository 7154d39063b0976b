import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { deleteRepo } from '../../../../../lambda/core/ledger/deletes.ts';
import { requestFileDeletion } from '../../../../../lambda/core/ledger/empty-objects.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { LargeRepoStack, oidOf, repo } from '../../../../support/memory/large-repo-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
const day = 24 * hour;
const count = 12;

/**
 * A function may end between any two lines: here it ends after each single call of its ports, whose effect stays. What others do
 * later makes up for it.
 */

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
  const silence = new Promise<never>(() => {});
  /** Also of a list. */
  const never = Object.assign(silence, { [Symbol.asyncIterator]: () => ({ next: () => silence }) });
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
    return result instanceof Promise ? result.then(() => silence) : result;
  };
  return { dying, death, calls: () => calls };
}

interface Setting {
  readonly kind: 'files' | 'lfs';
  readonly isLarge: boolean;
  readonly isYoung: boolean;
}

const names = Array.from({ length: count }, (_, index) => oidOf(index));
const fresh = ['a', 'b', 'c'].map((digit) => digit.repeat(64));
const sizesOf = (some: readonly string[]) => new Map(some.map((name) => [name, 10]));

/** A counted repo of objects of 10 bytes. */
async function beginning({ kind, isLarge, isYoung }: Setting): Promise<LargeRepoStack> {
  const stack = new LargeRepoStack({ largeRepoObjects: isLarge ? 4 : 1000, listRequestsPerHour: 1_000_000 });
  await stack.create(1_000);
  if (kind === 'files') await stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind });
  await stack.send(names);
  if (!isYoung) stack.nowMs += 9 * day;
  // The first count finds that it's large, and the second counts its shards.
  for (let counts = 0; counts < 2; counts += 1) await stack.reconcile('manual', true);
  await stack.pass(hour);
  expect((await stack.ledger.readRepo({ tenant, repo }))?.large !== undefined).toBe(isLarge);
  return stack;
}

interface Story {
  readonly what: string;
  /** What the function does that dies. */
  readonly act: (stack: LargeRepoStack, deps: Deps, setting: Setting) => Promise<unknown>;
  /** Before that. */
  readonly before?: (stack: LargeRepoStack, setting: Setting) => Promise<unknown>;
  /** What somebody does who got no answer, or got one. */
  readonly after?: (stack: LargeRepoStack, setting: Setting) => Promise<unknown>;
  /** Objects in the end. */
  readonly count: number;
  /** Whether it makes no difference how long ago the objects arrived. */
  readonly isAgeless?: true;
}

const handle = (stack: LargeRepoStack, deps: Deps) =>
  runReconcile(deps, {
    request: { tenant, reason: 'delete', full: false },
    deadlineMs: stack.nowMs + 14 * minute,
  });

async function ask(stack: LargeRepoStack, deps: Deps, { kind }: Setting): Promise<void> {
  const objects = sizesOf(fresh);
  const files = new Map(fresh.map((name) => [name, {}]));
  await admitUpload(deps, {
    tenant: await stack.record(),
    repo,
    objects,
    ...(kind === 'files' && { files }),
  });
}

const close = (deps: Deps) => deleteRepo(deps, { tenant, repo, dryRun: false });

/** Two of the three arrive. */
const send = async (stack: LargeRepoStack, setting: Setting) => {
  await ask(stack, stack.deps, setting);
  await stack.send(fresh.slice(1));
};

const requestDeletion = async (stack: LargeRepoStack, { kind }: Setting) => {
  const [name = ''] = names;
  if (kind === 'lfs') await stack.delete(name);
  else await requestFileDeletion(stack.deps, { tenant, repo, objects: sizesOf([name]) });
};

const deleteLongAgo = async (stack: LargeRepoStack, setting: Setting) => {
  await requestDeletion(stack, setting);
  await handle(stack, stack.deps);
  stack.nowMs += 28 * hour;
};

const askLongAgo = async (stack: LargeRepoStack, setting: Setting) => {
  await ask(stack, stack.deps, setting);
  stack.nowMs += 3 * hour;
};

const stories: readonly Story[] = [
  { what: 'a delete', before: requestDeletion, act: handle, count: count - 1 },
  { what: 'the end of a delete, a day later', before: deleteLongAgo, act: handle, count: count - 1 },
  { what: 'an upload', act: ask, after: send, count: count + 2, isAgeless: true },
  { what: 'a reconcile of uploads', before: send, act: handle, count: count + 2, isAgeless: true },
  { what: 'a reconcile of what never arrives', before: askLongAgo, act: handle, count, isAgeless: true },
  { what: 'the delete of a repo', act: (_, deps) => close(deps), after: ({ deps }) => close(deps), count: 0 },
  { what: 'the emptying of a repo', before: ({ deps }) => close(deps), act: handle, count: 0 },
];

/** @returns the calls of ports that the function made which died. */
async function played(
  stack: LargeRepoStack,
  story: Story,
  input: { setting: Setting; callsMax: number },
): Promise<number> {
  const { setting, callsMax } = input;
  await story.before?.(stack, setting);
  const { dying, death, calls } = livingFor(callsMax);
  const { deps } = stack;
  const [ledger, store, queue] = [
    mortal(deps.ledger, dying),
    mortal(deps.store, dying),
    mortal(deps.queue, dying),
  ];
  const run = story.act(stack, { ...deps, ledger, store, queue }, setting);
  await Promise.race([run, death.then(() => setImmediate())]);
  return calls();
}

describe.each(stories)('$what, whose function dies after any call of its ports,', (story) => {
  const rows = (['files', 'lfs'] as const).flatMap((kind) =>
    [true, false].flatMap((isLarge) =>
      (story.isAgeless ? [true] : [true, false]).flatMap((isYoung) =>
        [5 * minute, 28 * hour].map((laterMs) => ({ kind, isLarge, isYoung, laterMs })),
      ),
    ),
  );
  it.each(rows)(
    'is made up for ($kind, large: $isLarge, young: $isYoung, tried again after $laterMs ms)',
    async ({ laterMs, ...setting }) => {
      const inAll = await played(await beginning(setting), story, {
        setting,
        callsMax: Number.POSITIVE_INFINITY,
      });
      expect(inAll).toBeGreaterThan(2);
      for (let calls = 1; calls <= inAll; calls += 1) {
        const stack = await beginning(setting);
        await played(stack, story, { setting, callsMax: calls });
        await story.after?.(stack, setting);
        // None of them is one that counts everything, as the schedule has it made once a day.
        const waits = [
          laterMs,
          5 * minute,
          5 * minute,
          2 * hour,
          30 * hour,
          5 * minute,
          30 * hour,
          5 * minute,
        ];
        for (const waitedMs of waits) {
          stack.nowMs += waitedMs;
          await stack.reconcile('manual');
        }
        const record = await stack.ledger.readRepo({ tenant, repo });
        const found = { ...(await stack.usage()), objectCount: record?.objectCount ?? 0 };
        const bytes = 10 * story.count;
        expect({ calls, ...found }).toEqual({
          calls,
          committedBytes: bytes,
          storedBytes: bytes,
          objectCount: story.count,
        });
        expect(await allPages(stack.ledger.reservations(tenant))).toEqual([]);
      }
    },
  );
});
