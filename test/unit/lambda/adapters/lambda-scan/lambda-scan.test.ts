import { describe, expect, it } from 'vitest';
import { AwsServiceError } from '../../../../../lambda/adapters/aws-sdk/service-error.ts';
import type { InvocationOutcome } from '../../../../../lambda/adapters/lambda-scan/invoker.ts';
import { createLambdaScan } from '../../../../../lambda/adapters/lambda-scan/lambda-scan.ts';
import { childrenOf, rangeOf } from '../../../../../lambda/domain/giant/shard.ts';
import { decodeShardRequest } from '../../../../../lambda/events/shard-request.ts';
import { StoreUnavailableError } from '../../../../../lambda/ports/object-store.ts';
import type { PathScan, PathScanInput, PathScanOutcome } from '../../../../../lambda/ports/path-scan.ts';
import type { ShardAnswer } from '../../../../../lambda/ports/shard-scan.ts';
import { mapLimited } from '../../../../../lambda/use-cases/map-limited.ts';
import { scanShard } from '../../../../../lambda/use-cases/scan/scan-shard.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const prefix = 'acme/app/';
/** 62,500 in each of 16 shards. */
const objectsExpected = 1_000_000;
const names = ['0', '8', 'f'].map((digit) => digit.repeat(64));

function inputOf(shard: string, more: Partial<PathScanInput> = {}): PathScanInput {
  return {
    prefix,
    resume: {
      prefix,
      ranges: [rangeOf(shard)],
      storedBytes: 0,
      objectCount: 0,
      seen: [],
      requests: 0,
      isSequential: false,
      objectsExpected,
    },
    lookFor: new Set(names),
    ...more,
  };
}

/** A store in which every shard has 63 pages. What is in a range follows from the range. */
function scanOf(input: PathScanInput): PathScanOutcome {
  const [range = { after: null, last: null }] = input.resume?.ranges ?? [];
  const { after, last } = range;
  const isIn = (name: string) => (after === null || name > after) && (last === null || name <= last);
  const lookFor = input.lookFor === 'everything' ? new Set<string>() : (input.lookFor ?? new Set());
  const seen = [...lookFor].filter(isIn).map((name) => [name, 7] as const);
  const recent = input.recentSinceMs === undefined ? [] : [`${after ?? ''}new`];
  const storedBytes = 1000 + Number.parseInt(last ?? 'fffff', 16);
  const found = { storedBytes, objectCount: 62_500, seen: new Map(seen), recent: new Set(recent) };
  return { kind: 'done', ...found, requests: 63 };
}

type Reply = InvocationOutcome | 'scan' | 'silence' | ShardAnswer;

/** An adapter whose function scans as told: each of its answers in turn, the last again and again. */
function worldOf(options: { workers?: number; replies?: readonly Reply[]; clock?: ManualClock } = {}) {
  const { workers = 16, replies = ['scan'], clock = new ManualClock() } = options;
  const [events, locals]: [unknown[], PathScanInput[]] = [[], []];
  const limits: number[] = [];
  const tally = { running: 0, most: 0, localMost: 0, localRunning: 0 };
  const local: PathScan = {
    scan: async (input) => {
      locals.push(input);
      tally.localRunning += 1;
      tally.localMost = Math.max(tally.localMost, tally.localRunning);
      await new Promise((resolve) => setImmediate(resolve));
      tally.localRunning -= 1;
      return scanOf(input);
    },
  };
  const answers = async (reply: Reply, event: object): Promise<InvocationOutcome> => {
    if (reply !== 'scan' && reply !== 'silence') {
      const isAnswer = reply.kind !== 'answered' && reply.kind !== 'throttled' && reply.kind !== 'failed';
      return isAnswer ? { kind: 'answered', payload: JSON.stringify(reply) } : reply;
    }
    const request = decodeShardRequest(JSON.parse(JSON.stringify(event)));
    if (!request) throw new Error('The request cannot be read.');
    const scan = { scan: async (input: PathScanInput) => scanOf(input) };
    return { kind: 'answered', payload: JSON.stringify(await scanShard({ scan, clock }, request)) };
  };
  const invoker = {
    invoke: async ({ event, withinMs, stop }: { event: object; withinMs: number; stop: AbortSignal }) => {
      const reply = replies[Math.min(events.length, replies.length - 1)] ?? 'scan';
      events.push(event);
      limits.push(withinMs);
      tally.running += 1;
      tally.most = Math.max(tally.most, tally.running);
      try {
        if (reply === 'silence')
          await new Promise((_resolve, reject) => {
            stop.addEventListener('abort', () => reject(stop.reason), { once: true });
          });
        await new Promise((resolve) => setImmediate(resolve));
        return await answers(reply, event);
      } finally {
        tally.running -= 1;
      }
    },
  };
  const { log, entries } = recordingLog();
  const invocations = { current: () => ({ messageId: 'message-1' }) };
  const settings = { scanConcurrency: 128 };
  const scan = createLambdaScan({ local, invoker, clock, log, invocations, settings }, { workers });
  const scanAll = (shards: readonly string[], more: Partial<PathScanInput> = {}) =>
    Promise.all(shards.map((shard) => scan.scan(inputOf(shard, more))));
  return { scan, scanAll, events, limits, locals, tally, entries, clock };
}

const sixteen = childrenOf('');
const local = (shards: readonly string[], more: Partial<PathScanInput> = {}) =>
  shards.map((shard) => scanOf(inputOf(shard, more)));
const died: InvocationOutcome = { kind: 'failed', error: new Error('The function failed (Unhandled)') };

describe('shards that are wanted at once', () => {
  it('are scanned by functions, with the same outcome as in this process', async () => {
    const { scanAll, events, locals } = worldOf();
    expect(await scanAll(sixteen, { recentSinceMs: 5 })).toEqual(local(sixteen, { recentSinceMs: 5 }));
    expect(events).toHaveLength(16);
    expect(locals).toEqual([]);
    expect(events[8]).toEqual({
      prefix,
      after: '8',
      last: '9',
      objectsExpected,
      lookFor: [names[1]],
      recentSinceMs: 5,
      recentMax: 50_000,
      concurrency: 32,
      timeLimitMs: 30_000 + 63 * 20 * 16,
      correlationId: 'message-1',
    });
  });

  it('are scanned in this process if they are four or fewer', async () => {
    const { scanAll, events } = worldOf();
    expect(await scanAll(sixteen.slice(0, 4))).toEqual(local(sixteen.slice(0, 4)));
    expect(events).toEqual([]);
  });

  it('are scanned by no more functions at a time than the stage says', async () => {
    const { scan, scanAll, tally, events } = worldOf({ workers: 5 });
    expect(scan.parallelScans).toBe(4 + 5);
    expect(await scanAll(sixteen)).toEqual(local(sixteen));
    expect([tally.most, events.length]).toEqual([5, 16]);
  });

  it.each([1, 4, 16])(
    'are scanned by %i functions if so many are wanted as are worth while',
    async (workers) => {
      const { scan, tally, locals } = worldOf({ workers });
      const shards = childrenOf('');
      const scanOne = (shard: string) => scan.scan(inputOf(shard));
      expect(await mapLimited(shards, scan.parallelScans ?? 0, scanOne)).toEqual(local(shards));
      expect(tally.most).toBe(workers);
      expect(locals.length).toBeLessThanOrEqual(4);
    },
  );
});

describe('what no function is asked for', () => {
  const small = { ...inputOf('0').resume, objectsExpected: 700_000 } as PathScanInput['resume'];
  const begun = { ...inputOf('0').resume, objectCount: 1, requests: 1 } as PathScanInput['resume'];
  const many = new Set(Array.from({ length: 20_001 }, (_, index) => `${'0'.repeat(58)}${index + 1e5}`));
  it.each<[string, Partial<PathScanInput>]>([
    ['a small shard', { resume: small as NonNullable<typeof small> }],
    ['a shard that is begun', { resume: begun as NonNullable<typeof begun> }],
    ['all names', { lookFor: 'everything' }],
    ['more names than an event has room for', { lookFor: many }],
    ['a scan whose parts are wanted', { onPart: () => {} }],
    ['a scan that can be stopped', { stop: new AbortController().signal }],
  ])('%s', async (_what, more) => {
    const { scanAll, events, locals } = worldOf();
    await scanAll(Array(6).fill('0'), more);
    expect([events.length, locals.length]).toEqual([0, 6]);
  });

  it('a path without shards', async () => {
    const { scan, events } = worldOf();
    await Promise.all(Array.from({ length: 6 }, () => scan.scan({ prefix, hintObjects: 1e9 })));
    expect(events).toEqual([]);
  });
});

describe('a shard whose function', () => {
  it('dies is scanned by another one', async () => {
    const { scanAll, events, locals, entries } = worldOf({ replies: [died, 'scan'] });
    const [first, ...others] = await scanAll(sixteen);
    // What the dead one listed is charged as if it had been done.
    expect(first).toEqual({ ...scanOf(inputOf('0')), requests: 63 + 63 });
    expect(others).toEqual(local(sixteen.slice(1)));
    expect([events.length, locals.length]).toEqual([17, 0]);
    expect(entries).toMatchObject([
      { level: 'warn', message: 'shard not scanned by a function', fields: { prefix, after: null } },
    ]);
  });

  it('dies again is scanned in this process, four at a time', async () => {
    const { scanAll, events, locals, tally } = worldOf({ replies: [died] });
    const found = await scanAll(sixteen);
    expect(found).toEqual(local(sixteen).map((each) => ({ ...each, requests: 3 * 63 })));
    expect([events.length, locals.length, tally.localMost]).toEqual([32, 16, 4]);
  });

  it.each([
    ['no JSON', { kind: 'answered', payload: 'Not found' } as const],
    ['another kind', { kind: 'answered', payload: '{"kind":"later"}' } as const],
    ['names that nobody looked for', { ...answer(), seen: [['other', 1]] } as const],
    ['sums that are none', { ...answer(), storedBytes: 1.5 } as const],
    ['more than is known', { ...answer(), more: 1 } as const],
  ])('answers %s is scanned by another one', async (_what, reply) => {
    const { scanAll, entries } = worldOf({ replies: [reply as Reply, 'scan'] });
    expect(await scanAll(sixteen)).toMatchObject(local(sixteen).map(({ requests: _, ...each }) => each));
    expect(entries).toMatchObject([{ fields: { reason: 'The answer of the function cannot be read.' } }]);
  });

  it('has no room is scanned in this process, and so is what follows for a minute', async () => {
    const { scanAll, events, locals, clock } = worldOf({
      workers: 1,
      replies: [{ kind: 'throttled' }, 'scan'],
    });
    expect(await scanAll(sixteen)).toEqual(local(sixteen));
    expect([events.length, locals.length]).toEqual([1, 16]);
    clock.advance(60_000);
    expect(await scanAll(sixteen)).toEqual(local(sixteen));
    expect([events.length, locals.length]).toEqual([17, 16]);
  });

  it('is not there is scanned in this process, and so is what follows', async () => {
    const error = new AwsServiceError({ message: 'gone', code: 'ResourceNotFoundException', status: 404 });
    const { scanAll, events, locals } = worldOf({ workers: 1, replies: [{ kind: 'failed', error }, 'scan'] });
    expect(await scanAll(sixteen)).toEqual(local(sixteen));
    expect([events.length, locals.length]).toEqual([1, 16]);
  });

  it('did not finish is scanned in this process', async () => {
    const { scanAll, locals } = worldOf({ replies: [{ kind: 'unfinished', requests: 10 }, 'scan'] });
    expect((await scanAll(sixteen))[0]).toEqual({ ...scanOf(inputOf('0')), requests: 73 });
    expect(locals).toHaveLength(1);
  });

  it('got no answer of the store fails, and ends the others', async () => {
    const replies: Reply[] = [{ kind: 'store unavailable', message: 'no answer' }, 'silence'];
    const { scan } = worldOf({ replies });
    const all = await Promise.allSettled(sixteen.map((shard) => scan.scan(inputOf(shard))));
    for (const each of all)
      expect(each).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailableError) });
  });
});

describe('the time of a shard', () => {
  it('ends before its deadline, with room for the answer', async () => {
    const { scanAll, events, limits, clock } = worldOf();
    await scanAll(sixteen, { deadlineMs: clock.nowMs() + 20_000 });
    expect(events).toMatchObject(Array(16).fill({ timeLimitMs: 15_000 }));
    expect(new Set(limits)).toEqual(new Set([20_000]));
  });

  it('is over if there is none for the answer: it is left for the next time', async () => {
    const { scanAll, events, clock } = worldOf();
    const found = await scanAll(sixteen, { deadlineMs: clock.nowMs() + 5_000 });
    const rest = { ...inputOf('0').resume, requests: 0 };
    expect(found[0]).toEqual({ kind: 'unfinished', requests: 0, rest });
    expect(events).toEqual([]);
  });

  it('is over if functions took all of it', async () => {
    const clock = new ManualClock();
    const { scanAll, locals } = worldOf({ clock, replies: [died] });
    const running = scanAll(sixteen, { deadlineMs: clock.nowMs() + 20_000 });
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(20_000);
    expect(await running).toMatchObject(Array(16).fill({ kind: 'unfinished', requests: 63 }));
    expect(locals).toEqual([]);
  });
});

it('a lease that is lost ends the scans, although a function goes on', async () => {
  const { scan } = worldOf({ replies: ['silence'] });
  const lost = new Error('superseded');
  const onPage = () => {
    throw lost;
  };
  const all = await Promise.allSettled(sixteen.map((shard) => scan.scan(inputOf(shard, { onPage }))));
  expect(all).toEqual(Array(16).fill({ status: 'rejected', reason: lost }));
});

function answer(): Extract<ShardAnswer, { kind: 'done' }> {
  return { kind: 'done', storedBytes: 1, objectCount: 1, seen: [], recent: [], requests: 1 };
}
