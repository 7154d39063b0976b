import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  isReconcileReason,
  type ReconcileReason,
} from '../../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { readJob } from '../../../../../lambda/core/rules/jobs.ts';
import { createInvocations } from '../../../../../lambda/frame/aws/invocation-log.ts';
import { createSqsQueueGauge } from '../../../../../lambda/frame/aws/queue-gauge.ts';
import {
  createSqsJobQueue,
  createSqsReconcileQueue,
  createSqsRedelivery,
} from '../../../../../lambda/frame/aws/sqs.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';
import { entriesOf, fakeSqs, queueUrl, take } from './fake-sqs.ts';

describe('job queue', () => {
  function open() {
    const { sqs, client, sent } = fakeSqs();
    const slept: number[] = [];
    const clock = { sleep: async (ms: number) => void slept.push(ms) };
    const invocations = createInvocations();
    const queue = createSqsJobQueue({ client, queueUrl, clock, invocations });
    return { queue, sqs, sent, slept, invocations };
  }

  const job = z.object({ tenant: z.string(), step: z.int().optional() });
  const jobs = (count: number) => Array.from({ length: count }, (_, step) => ({ tenant: 'acme', step }));

  describe('jobs', () => {
    it('are sent ten in each request, all at once, to a queue that is no FIFO', async () => {
      const { queue, sqs, sent } = open();
      await queue.send([...jobs(22), { tenant: 'acme' }]);
      const entries = sqs.calls.map(({ input }) => input['Entries'] as object[]);
      expect(entries.map(({ length }) => length)).toEqual([10, 10, 3]);
      for (const entry of entries.flat()) expect(Object.keys(entry).sort()).toEqual(['Id', 'MessageBody']);
      expect(new Set(sqs.calls.map(({ operation }) => operation))).toEqual(new Set(['SendMessageBatch']));
      expect(sqs.calls[0]?.input['QueueUrl']).toBe(queueUrl);
      const decoded = sent().map(({ MessageBody }) => readJob(job, MessageBody)?.job);
      expect(decoded).toEqual([...jobs(22), { tenant: 'acme' }]);
    });

    it('have the id of the request that they are for', async () => {
      const { queue, sent, invocations } = open();
      await invocations.during({ correlationId: 'c-1' }, () => queue.send(jobs(1)));
      const causes = sent().map(({ MessageBody }) => readJob(job, MessageBody)?.correlationId);
      expect(causes).toEqual(['c-1']);
    });

    it('that were not taken are sent again, three times at most', async () => {
      const { queue, sqs, sent, slept } = open();
      sqs.answer = (call) => take(call, sqs.calls.length === 1 ? '3' : undefined);
      await queue.send(jobs(5));
      expect(sent().slice(5)).toMatchObject([{ Id: '3' }]);
      sqs.answer = (call) => take(call, '0');
      await expect(queue.send(jobs(10))).rejects.toThrow('rejected 1 of 10 messages: InternalError');
      expect(slept).toHaveLength(3);
      // Two calls before.
      expect(sqs.calls).toHaveLength(5);
      sqs.answer = (call) => take(call, sqs.calls.length < 8 ? '0' : undefined);
      await queue.send(jobs(20));
      expect(sent().slice(-2)).toMatchObject([{ Id: '0' }, { Id: '0' }]);
    });

    it('may be none', async () => {
      const { queue, sqs } = open();
      await queue.send([]);
      expect(sqs.calls).toEqual([]);
    });
  });
});

const deadLetterUrl = `${queueUrl}-dead`;
const counts = (visible: unknown, delayed: unknown, hidden: unknown) => ({
  Attributes: {
    ApproximateNumberOfMessages: visible,
    ApproximateNumberOfMessagesDelayed: delayed,
    ApproximateNumberOfMessagesNotVisible: hidden,
  },
});

describe('the gauge of a queue of SQS', () => {
  const open = (answerOf: (url: unknown) => unknown) => {
    const { sqs, client } = fakeSqs();
    sqs.answer = ({ input }) => ({ body: answerOf(input['QueueUrl']) });
    return { sqs, gauge: createSqsQueueGauge({ client, queue: 'reconciles', queueUrl, deadLetterUrl }) };
  };

  it('asks the queue and its dead letters, once each, for three numbers', async () => {
    const { sqs, gauge } = open((url) => (url === queueUrl ? counts('3', '2', '1') : counts('4', '0', '5')));
    expect(gauge.queue).toBe('reconciles');
    expect(await gauge.read()).toEqual({
      waiting: 5,
      running: 1,
      oldestAtMs: null,
      deadLetters: 9,
      deadLettersAt: deadLetterUrl,
    });
    const AttributeNames = [
      'ApproximateNumberOfMessages',
      'ApproximateNumberOfMessagesDelayed',
      'ApproximateNumberOfMessagesNotVisible',
    ];
    expect(sqs.calls).toEqual([
      { operation: 'GetQueueAttributes', input: { QueueUrl: queueUrl, AttributeNames } },
      { operation: 'GetQueueAttributes', input: { QueueUrl: deadLetterUrl, AttributeNames } },
    ]);
  });

  it.each([counts('3', undefined, '1'), counts('3', 'x', '1'), counts('-1', '0', '0'), {}])(
    'does not take %j for an answer',
    async (answer) => {
      const { gauge } = open(() => answer);
      await expect(gauge.read()).rejects.toThrow('SQS answered GetQueueAttributes without Approximate');
    },
  );

  it('says what SQS refused', async () => {
    const { sqs, gauge } = open(() => ({}));
    sqs.answer = () => ({ status: 403, body: { name: 'AccessDenied' } });
    await expect(gauge.read()).rejects.toThrow('SQS answered GetQueueAttributes with 403 AccessDenied');
  });
});

describe('reconcile queue', () => {
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
    const { sqs, client, sent } = fakeSqs();
    const queue = createSqsReconcileQueue({ client, queueUrl, clock, invocations: createInvocations() });
    return { queue, slept, sqs, sent };
  }

  const idOf = async (nowMs: number, reason: ReconcileReason, full = false) => {
    const { queue, sent } = open(nowMs);
    await queue.request({ tenant: 'acme', reason, full });
    return sent()[0]?.MessageDeduplicationId;
  };

  describe('a request', () => {
    it('is a message in the group of its tenant', async () => {
      const { queue, sqs, sent } = open();
      await queue.request({ tenant: 'acme', reason: 'upload', full: false });
      expect(sqs.calls).toMatchObject([
        { operation: 'SendMessage', input: { QueueUrl: queueUrl, MessageGroupId: 'acme' } },
      ]);
      expect(JSON.parse(sent()[0]?.MessageBody ?? '')).toEqual({
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
      const { queue, slept, sent } = open(60_000);
      const request = { tenant: 'acme', full: false } as const;
      for (const reason of ['upload', 'verify', 'verify', 'refusal'] as const)
        await queue.request({ ...request, reason });
      await queue.request({ ...request, tenant: 'other', reason: 'verify' });
      expect(sent()).toHaveLength(3);
      expect(slept).toEqual([]);
    });

    it('is sent again by a process that has sent a thousand others since', async () => {
      const { queue, sent } = open(60_000);
      const request = (tenant: string) => queue.request({ tenant, reason: 'verify', full: false });
      for (const tenant of ['acme', ...Array.from({ length: 1000 }, (_, index) => `t${index}`), 'acme'])
        await request(tenant);
      expect(sent()).toHaveLength(1002);
      await request('acme');
      expect(sent()).toHaveLength(1002);
    });

    const notAccepted = { name: 'QueueDoesNotExist' };
    it.each([
      [
        'refuses it',
        { status: 400, body: notAccepted },
        'SQS answered SendMessage with 400 QueueDoesNotExist',
      ],
      ['says nothing', { body: {} }, 'The queue did not confirm the message.'],
      ['has read another body', { body: { MD5OfMessageBody: '0'.repeat(32) } }, 'did not confirm'],
    ])('is sent again if the queue %s', async (_what, answer, message) => {
      const { queue, sqs } = open(60_000);
      sqs.answer = () => answer;
      const request = { tenant: 'acme', reason: 'upload', full: false } as const;
      await expect(queue.request(request)).rejects.toThrow(message);
      sqs.answer = take;
      await queue.request(request);
      await queue.request(request);
      expect(sqs.calls).toHaveLength(2);
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
    .filter(isReconcileReason)
    .flatMap((reason) => [true, false].map((full) => ({ reason, full })));

  /** What the consumer does with a request that it may not run yet: 0 to drop it, 1 to send it again. */
  async function sentAgain(
    request: { reason: ReconcileReason; full: boolean },
    isDue: boolean,
  ): Promise<number> {
    const world = new MemoryStack({ reconcileRestMs: minute });
    await world.create();
    if (isDue) world.nowMs += 48 * 60 * minute;
    const { epoch } = await world.record();
    const listedUntilMs = world.nowMs + 25 * 60 * minute;
    await world.ledger.setLease({ tenant, epoch, leaseUntilMs: 0, listedUntilMs });
    await runReconcile(world.deps, {
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
    const groupsIn = ({ sqs }: ReturnType<typeof open>) =>
      sqs.calls.map((call) => entriesOf(call).map((entry) => entry.MessageGroupId));

    it('are sent ten at a time, in their order', async () => {
      const opened = open();
      await opened.queue.requestAll(requests);
      expect(groupsIn(opened).map((groups) => groups.length)).toEqual([10, 10, 3]);
      expect(groupsIn(opened).flat()).toEqual(requests.map(({ tenant }) => tenant));
      expect(opened.sqs.calls[0]).toMatchObject({
        operation: 'SendMessageBatch',
        input: { QueueUrl: queueUrl },
      });
    });

    it('are sent again if they were rejected, and no others', async () => {
      const opened = open();
      opened.sqs.answer = (call) => take(call, opened.sqs.calls.length === 1 ? '3' : undefined);
      await opened.queue.requestAll(requests.slice(0, 10));
      expect(groupsIn(opened).map((groups) => groups.length)).toEqual([10, 1]);
      expect(groupsIn(opened)[1]).toEqual(['tenant3']);
      expect(opened.slept).toHaveLength(1);
    });

    it('end with an error if one is always rejected, and nothing after it is sent', async () => {
      const opened = open();
      opened.sqs.answer = (call) => take(call, '0');
      await expect(opened.queue.requestAll(requests)).rejects.toThrow(
        'rejected 1 of 10 messages: InternalError',
      );
      expect(groupsIn(opened).map((groups) => groups.length)).toEqual([10, 1, 1]);
      expect(opened.slept).toEqual([400, 600]);
    });

    it.each([
      ['nothing', {}],
      ['that it has read other bodies', { Successful: [{ Id: '0', MD5OfMessageBody: 'x' }] }],
    ])('are not sent if the answer says %s', async (_what, body) => {
      const opened = open();
      opened.sqs.answer = () => ({ body });
      await expect(opened.queue.requestAll(requests.slice(0, 2))).rejects.toThrow(
        'rejected 2 of 2 messages: without a reason',
      );
      expect(opened.sqs.calls).toHaveLength(3);
    });

    it('end with the error of a request that failed as a whole', async () => {
      const opened = open();
      opened.sqs.answer = () => ({ status: 403, body: { name: 'AccessDeniedException', message: 'no' } });
      await expect(opened.queue.requestAll(requests)).rejects.toMatchObject({
        name: 'AccessDeniedException',
        message: 'SQS answered SendMessageBatch with 403 AccessDeniedException: no',
      });
      expect(opened.sqs.calls).toHaveLength(1);
    });

    it('may be none', async () => {
      const opened = open();
      await opened.queue.requestAll([]);
      expect(opened.sqs.calls).toEqual([]);
    });
  });
});

it('this delivery stays hidden for whole seconds, at least as long as requested', async () => {
  const { sqs, client } = fakeSqs();
  await createSqsRedelivery({ client, queueUrl }).delay({ receiptHandle: 'handle', delayMs: 60_001 });
  expect(sqs.calls).toEqual([
    {
      operation: 'ChangeMessageVisibility',
      input: { QueueUrl: queueUrl, ReceiptHandle: 'handle', VisibilityTimeout: 61 },
    },
  ]);
});

it('a delivery whose time is over is an error', async () => {
  const { sqs, client } = fakeSqs();
  sqs.answer = () => ({ status: 400, body: { name: 'MessageNotInflight' } });
  const redelivery = createSqsRedelivery({ client, queueUrl });
  await expect(redelivery.delay({ receiptHandle: 'handle', delayMs: 1 })).rejects.toThrow(
    'SQS answered ChangeMessageVisibility with 400 MessageNotInflight',
  );
  expect(sqs.calls).toHaveLength(1);
});
