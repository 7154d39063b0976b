import { describe, expect, it } from 'vitest';
import { rangeOf } from '../../../../../lambda/domain/giant/shard.ts';
import { sha256Hex } from '../../../../../lambda/domain/hash.ts';
import { StoreUnavailableError } from '../../../../../lambda/ports/object-store.ts';
import type { PathScan, PathScanInput } from '../../../../../lambda/ports/path-scan.ts';
import type { ShardRequest } from '../../../../../lambda/ports/shard-scan.ts';
import { scanShard } from '../../../../../lambda/use-cases/scan/scan-shard.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';

const request: ShardRequest = {
  prefix: `${tenant}/app/`,
  ...(rangeOf('a') as { after: string; last: string }),
  objectsExpected: 800,
  lookFor: [],
  recentSinceMs: null,
  recentMax: 50_000,
  concurrency: 4,
  timeLimitMs: 10_000,
};

/** A scan that sees what it is asked, and ends as it is told. */
function scanning(scan: PathScan['scan']) {
  const inputs: PathScanInput[] = [];
  const clock = new ManualClock();
  const deps = {
    clock,
    scan: {
      scan: (input: PathScanInput) => {
        inputs.push(input);
        return scan(input);
      },
    },
  };
  return { deps, inputs, clock };
}

const done = {
  kind: 'done',
  storedBytes: 5,
  objectCount: 2,
  seen: new Map(),
  recent: new Set<string>(),
  requests: 1,
} as const;

describe('a shard that another function asks for', () => {
  it('is counted, and nothing beside it', async () => {
    const world = new MemoryStack();
    const oids = Array.from({ length: 800 }, (_, index) => sha256Hex(String(index)));
    world.put(Object.fromEntries(oids.map((oid) => [`app/${oid}`, 3])));
    const inShard = oids.filter((oid) => oid > 'a' && oid <= 'b');
    const [first = '', second = ''] = inShard;
    const answer = await scanShard(world.deps, {
      ...request,
      lookFor: [first, second, 'a0'],
      recentSinceMs: 0,
    });
    expect(answer).toMatchObject({
      kind: 'done',
      objectCount: inShard.length,
      storedBytes: 3 * inShard.length,
    });
    if (answer.kind !== 'done') throw new Error(answer.kind);
    expect(new Map(answer.seen)).toEqual(
      new Map([
        [first, 3],
        [second, 3],
      ]),
    );
    expect([...answer.recent].sort()).toEqual([...inShard].sort());
    expect(JSON.parse(JSON.stringify(answer))).toEqual(answer);
  });

  it('has its time from now on, by the clock of who scans', async () => {
    const { deps, inputs, clock } = scanning(async () => done);
    await scanShard(deps, request);
    expect(inputs).toMatchObject([{ deadlineMs: clock.nowMs() + 10_000, concurrency: 4, recentMax: 50_000 }]);
  });

  it('is unfinished when the time is over: only the requests are told', async () => {
    const rest = { prefix: '', ranges: [], storedBytes: 0, objectCount: 0, seen: [], requests: 9 };
    const { deps } = scanning(async () => ({
      kind: 'unfinished',
      requests: 9,
      rest: { ...rest, isSequential: false, objectsExpected: null },
    }));
    expect(await scanShard(deps, request)).toEqual({ kind: 'unfinished', requests: 9 });
  });

  it('is answered for a store that does not answer, and dies of a mistake', async () => {
    const broken = scanning(() => Promise.reject(new StoreUnavailableError('no answer')));
    expect(await scanShard(broken.deps, request)).toEqual({
      kind: 'store unavailable',
      message: 'no answer',
    });
    const mistaken = scanning(() => Promise.reject(new RangeError('too much')));
    await expect(scanShard(mistaken.deps, request)).rejects.toThrow('too much');
  });

  it('has too many recent names if they do not fit into an answer', async () => {
    // Each of these characters has six bytes as JSON.
    const name = (index: number) => `${index}${'\u0001'.repeat(200)}`;
    const recent = (count: number) => new Set(Array.from({ length: count }, (_, index) => name(index)));
    const few = scanning(async () => ({ ...done, recent: recent(3_000) }));
    expect(await scanShard(few.deps, request)).toMatchObject({ recent: [...recent(3_000)] });
    const many = scanning(async () => ({ ...done, recent: recent(4_000) }));
    expect(await scanShard(many.deps, request)).toMatchObject({ recent: 'too many' });
  });
});
