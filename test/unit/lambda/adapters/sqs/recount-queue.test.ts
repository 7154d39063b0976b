import { SendMessageBatchCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, it } from 'vitest';
import { createSqsRecountQueue } from '../../../../../lambda/adapters/sqs/recount-queue.ts';
import { createInvocations } from '../../../../../lambda/adapters/system/invocations.ts';
import type { RecountReason } from '../../../../../lambda/domain/recount-policy.ts';

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

  it('made when an earlier one is delivered, even as soon as possible, does not collapse into it', async () => {
    for (const skewMs of [-5_000, 0, 5_000]) {
      for (let sentMs = 100_000; sentMs < 130_000; sentMs += 500)
        expect(await idOf(sentMs + 35_000 + skewMs, 'upload')).not.toBe(await idOf(sentMs, 'upload'));
    }
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
