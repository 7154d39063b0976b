import { SendMessageBatchCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, it } from 'vitest';
import { createSqsRecountQueue } from '../../../../../lambda/adapters/sqs/recount-queue.ts';
import { createInvocations } from '../../../../../lambda/adapters/system/invocations.ts';
import { isRecountReason, type RecountReason } from '../../../../../lambda/domain/recount-policy.ts';
import { runRecount } from '../../../../../lambda/use-cases/recounts/run-recount.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

const sqs = mockClient(SQSClient);
afterEach(() => void sqs.reset());

const queueUrl = 'https://sqs.eu-central-1.amazonaws.com/111122223333/recounts.fifo';

function open(nowMs = 0) {
  const slept: number[] = [];
  let atMs = nowMs;
  const clock = {
    nowMs: () => atMs,
    sleep: async (ms: number) => {
      slept.push(ms);
      atMs += ms;
    },
  };
  return { queue: createSqsRecountQueue({ queueUrl, clock, invocations: createInvocations() }), slept };
}

const idOf = async (nowMs: number, reason: RecountReason, full = false) => {
  sqs.reset();
  sqs.on(SendMessageCommand).resolves({});
  await open(nowMs).queue.request({ tenant: 'acme', reason, full });
  return sqs.commandCalls(SendMessageCommand)[0]?.args[0].input.MessageDeduplicationId;
};

describe('a request', () => {
  it('is a message in the group of its tenant', async () => {
    sqs.on(SendMessageCommand).resolves({});
    await open().queue.request({ tenant: 'acme', reason: 'upload', full: false });
    const [call] = sqs.commandCalls(SendMessageCommand);
    expect(call?.args[0].input).toMatchObject({ QueueUrl: queueUrl, MessageGroupId: 'acme' });
    expect(JSON.parse(call?.args[0].input.MessageBody ?? '')).toEqual({
      tenant: 'acme',
      reason: 'upload',
      full: false,
    });
  });

  it('collapses with others of the same 30 seconds, but not with one that may be deferred for longer or lists less', async () => {
    const upload = await idOf(60_000, 'upload');
    expect(await idOf(89_999, 'verify')).toBe(upload);
    expect(await idOf(90_000, 'verify')).not.toBe(upload);
    expect(await idOf(60_000, 'refusal')).not.toBe(upload);
    expect(await idOf(60_000, 'upload', true)).not.toBe(upload);
  });

  it('is not sent again by the same process while the queue would drop it', async () => {
    sqs.on(SendMessageCommand).resolves({});
    const { queue, slept } = open(60_000);
    const request = { tenant: 'acme', full: false } as const;
    for (const reason of ['upload', 'verify', 'verify', 'refusal'] as const)
      await queue.request({ ...request, reason });
    await queue.request({ ...request, tenant: 'other', reason: 'verify' });
    expect(sqs.commandCalls(SendMessageCommand)).toHaveLength(3);
    expect(slept).toEqual([]);
  });

  it('is sent again if the queue has not accepted it', async () => {
    sqs.on(SendMessageCommand).rejectsOnce(new Error('lost')).resolves({});
    const { queue } = open(60_000);
    const request = { tenant: 'acme', reason: 'upload', full: false } as const;
    await expect(queue.request(request)).rejects.toThrow('lost');
    await queue.request(request);
    await queue.request(request);
    expect(sqs.commandCalls(SendMessageCommand)).toHaveLength(2);
  });

  it('made when an earlier one is delivered, even as soon as possible, does not collapse into it', async () => {
    for (const skewMs of [-5_000, 0, 5_000]) {
      for (let sentMs = 100_000; sentMs < 130_000; sentMs += 500)
        expect(await idOf(sentMs + 35_000 + skewMs, 'upload')).not.toBe(await idOf(sentMs, 'upload'));
    }
  });
});

/** All reasons, each with and without a full count. */
const kinds = [
  'upload',
  'verify',
  'event',
  'delete',
  'import',
  'miss',
  'refusal',
  'schedule',
  'manual',
  'unfinished',
]
  .filter(isRecountReason)
  .flatMap((reason) => [true, false].map((full) => ({ reason, full })));

/** What the consumer does with a request that it may not run yet: 0 to drop it, 1 to send it again. */
async function sentAgain(request: { reason: RecountReason; full: boolean }, isDue: boolean): Promise<number> {
  const world = new MemoryStack({ recountRestMs: minute });
  await world.create();
  if (isDue) world.nowMs += 48 * 60 * minute;
  const { epoch } = await world.record();
  const listedUntilMs = world.nowMs + 25 * 60 * minute;
  await world.ledger.setLease({ tenant, epoch, leaseUntilMs: 0, listedUntilMs });
  await runRecount(world.deps, {
    request: { tenant, ...request },
    deadlineMs: world.nowMs + 14 * minute,
  });
  return world.requests.length;
}

describe('requests that collapse', () => {
  it('have the same fate if the consumer defers them: none is dropped because it joined another', async () => {
    const fatesById = new Map<string | undefined, Set<string>>();
    for (const kind of kinds) {
      const id = await idOf(60_000, kind.reason, kind.full);
      const fate = [await sentAgain(kind, false), await sentAgain(kind, true)].join();
      fatesById.set(id, (fatesById.get(id) ?? new Set()).add(fate));
    }
    // Neither urgency nor `full` may differ either.
    expect(fatesById.size).toBe(6);
    expect([...fatesById.values()].flatMap((fates) => [...fates]).sort()).toEqual([
      '0,0',
      '0,0',
      '1,1',
      '1,1',
      '1,1',
      '1,1',
    ]);
  });

  it('never join one of the schedule, which is dropped if it is deferred', async () => {
    for (const reason of ['upload', 'verify', 'event'] as const)
      expect(await idOf(60_000, reason)).not.toBe(await idOf(60_000, 'schedule'));
  });
});

describe('many requests', () => {
  const requests = Array.from({ length: 23 }, (_, index) => ({
    tenant: `tenant${index}`,
    reason: 'schedule',
    full: true,
  })) as { tenant: string; reason: 'schedule'; full: boolean }[];
  const sent = () =>
    sqs
      .commandCalls(SendMessageBatchCommand)
      .map(({ args }) => (args[0].input.Entries ?? []).map((entry) => entry.MessageGroupId));

  it('are sent ten at a time, in their order', async () => {
    sqs.on(SendMessageBatchCommand).resolves({});
    await open().queue.requestAll(requests);
    expect(sent().map((groups) => groups.length)).toEqual([10, 10, 3]);
    expect(sent().flat()).toEqual(requests.map(({ tenant }) => tenant));
  });

  it('are sent again if they were rejected, and no others', async () => {
    const Failed = [{ Id: '3', Code: 'InternalError', SenderFault: false }];
    sqs.on(SendMessageBatchCommand).resolvesOnce({ Failed, Successful: [] }).resolves({});
    const { queue, slept } = open();
    await queue.requestAll(requests.slice(0, 10));
    expect(sent().map((groups) => groups.length)).toEqual([10, 1]);
    expect(sent()[1]).toEqual(['tenant3']);
    expect(slept).toHaveLength(1);
  });

  it('end with an error if one is always rejected, and nothing after it is sent', async () => {
    const Failed = [{ Id: '0', Code: 'InternalError', SenderFault: false }];
    sqs.on(SendMessageBatchCommand).resolves({ Failed });
    await expect(open().queue.requestAll(requests)).rejects.toThrow(
      'rejected 1 of 10 messages: InternalError',
    );
    expect(sent()).toHaveLength(3);
  });

  it('may be none', async () => {
    await open().queue.requestAll([]);
    expect(sent()).toEqual([]);
  });
});
