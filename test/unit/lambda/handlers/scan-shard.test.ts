import { expect, it } from 'vitest';
import { createInvocationLog } from '../../../../lambda/adapters/system/invocation-log.ts';
import { createInvocations } from '../../../../lambda/adapters/system/invocations.ts';
import { create } from '../../../../lambda/handlers/scan-shard.ts';
import { StoreUnavailableError } from '../../../../lambda/ports/object-store.ts';
import type { PathScan, PathScanInput } from '../../../../lambda/ports/path-scan.ts';
import { lambdaContext } from '../../../../local/lambda-context.ts';
import { ManualClock } from '../../../support/memory/deps.ts';
import { recordingLog } from '../../../support/recording-log.ts';

const request = {
  prefix: 'acme/app/',
  after: 'a',
  last: 'b',
  objectsExpected: 1_000_000,
  lookFor: [],
  recentSinceMs: null,
  recentMax: 10,
  concurrency: 32,
  timeLimitMs: 240_000,
  correlationId: 'message-1',
};

function handlerOf(scan: PathScan['scan']) {
  const { log, entries } = recordingLog();
  const invocations = createInvocations();
  const clock = new ManualClock();
  const inputs: PathScanInput[] = [];
  const handle = create({
    clock,
    invocations,
    log: createInvocationLog(log, invocations),
    scan: {
      scan: (input) => {
        inputs.push(input);
        return scan(input);
      },
    },
  });
  const context = {
    ...lambdaContext({ functionName: 'scanShard', timeLimitMs: 60_000 }),
    awsRequestId: 'run-1',
  };
  return { invoke: (event: unknown) => handle(event, context), entries, inputs, clock };
}

const found = { storedBytes: 5, objectCount: 2, seen: new Map([['a1', 5]]), recent: new Set<string>() };

it('answers what the scan found', async () => {
  const { invoke } = handlerOf(async () => ({ kind: 'done', ...found, requests: 3 }));
  expect(await invoke(request)).toEqual({
    kind: 'done',
    storedBytes: 5,
    objectCount: 2,
    seen: [['a1', 5]],
    recent: [],
    requests: 3,
  });
});

it('ends before Lambda ends it, whatever it is asked', async () => {
  const { invoke, inputs, clock } = handlerOf(async () => ({ kind: 'done', ...found, requests: 3 }));
  await invoke(request);
  const leftMs = (inputs[0]?.deadlineMs ?? 0) - clock.nowMs();
  expect(leftMs).toBeLessThanOrEqual(55_000);
  expect(leftMs).toBeGreaterThan(40_000);
});

it('says with the ids of its cause that the store did not answer', async () => {
  const { invoke, entries } = handlerOf(() => Promise.reject(new StoreUnavailableError('no answer')));
  expect(await invoke(request)).toEqual({ kind: 'store unavailable', message: 'no answer' });
  expect(entries).toMatchObject([
    {
      level: 'warn',
      message: 'shard not scanned',
      fields: {
        prefix: 'acme/app/',
        reason: 'no answer',
        correlationId: 'message-1',
        functionRequestId: 'run-1',
      },
    },
  ]);
});

it('fails if it is asked for something else', async () => {
  const { invoke, inputs } = handlerOf(async () => ({ kind: 'done', ...found, requests: 3 }));
  await expect(invoke({ Records: [] })).rejects.toThrow('not a request to scan a shard');
  expect(inputs).toEqual([]);
});
