import { SendMessageBatchCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, it } from 'vitest';
import { createSqsRecountQueue } from '../../../../lambda/adapters/sqs/recount-queue.ts';
import { createInvocations } from '../../../../lambda/adapters/system/async-invocations.ts';
import { systemClock } from '../../../../lambda/adapters/system/clock.ts';
import { createInvocationLog } from '../../../../lambda/adapters/system/invocation-log.ts';
import { causeOf, isCorrelationId } from '../../../../lambda/domain/invocation.ts';
import { create as createReconcile } from '../../../../lambda/handlers/reconcile.ts';
import { create as createRefresh } from '../../../../lambda/handlers/refresh.ts';
import { respondProblem } from '../../../../lambda/http/management/access.ts';
import { json } from '../../../../lambda/http/respond.ts';
import { guard } from '../../../../lambda/runtime/guard.ts';
import { withInvocation } from '../../../../lambda/runtime/with-invocation.ts';
import { newMessage } from '../../../../local/background/queue-message.ts';
import { toSqsEvent } from '../../../../local/background/sqs-event.ts';
import { lambdaContext } from '../../../../local/lambda-context.ts';
import { noMetrics } from '../../../../local/no-metrics.ts';
import { httpEvent } from '../../../support/http-event.ts';
import { MemoryStack } from '../../../support/memory/stack.ts';
import { recordingLog } from '../../../support/recording-log.ts';

function setUp() {
  const { log, entries } = recordingLog();
  const invocations = createInvocations();
  return { invocations, entries, log: createInvocationLog(log, invocations) };
}

/** Until some of the others have gone on. */
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** An event of API Gateway, of the request with this id. */
const requestOf = (requestId: string) => {
  const event = httpEvent({ routeKey: 'GET /x' });
  return { ...event, requestContext: { ...event.requestContext, requestId } };
};

const contextOf = (awsRequestId: string) => ({
  ...lambdaContext({ functionName: 'management', timeLimitMs: 1000 }),
  awsRequestId,
});

describe('the lines that are logged', () => {
  it('of many requests at once name each its own', async () => {
    const { log, invocations, entries } = setUp();
    const handler = guard({ log, invocations }, respondProblem, async (event) => {
      const index = Number(event.requestContext.requestId.slice(1));
      for (const step of [0, 1, 2]) {
        await Promise.all([turns((index * 7 + step) % 5), turns(1)]);
        log.info('step', { index });
      }
      if (index % 3 === 0) throw new Error('broken');
      return json(200, {});
    });
    const indexes = Array.from({ length: 60 }, (_, index) => index);
    await Promise.all(indexes.map((index) => handler(requestOf(`r${index}`), contextOf(`f${index}`))));
    expect(entries).toHaveLength(60 * 3 + 20);
    for (const { fields, message } of entries) {
      const index = message === 'step' ? fields['index'] : String(fields['requestId']).slice(1);
      expect(fields).toMatchObject({ requestId: `r${index}`, functionRequestId: `f${index}` });
    }
  });

  it('of a run that no request asked for name the run', async () => {
    const { log, invocations, entries } = setUp();
    const run = withInvocation(invocations, async () => log.info('ran'));
    await Promise.all([run({}, { awsRequestId: 'a' }), run({}, { awsRequestId: 'b' })]);
    expect(entries.map(({ fields }) => fields)).toEqual([
      { requestId: 'a', functionRequestId: 'a' },
      { requestId: 'b', functionRequestId: 'b' },
    ]);
  });

  it('name nothing where nothing runs, and the outer run again after an inner one', async () => {
    const { log, invocations, entries } = setUp();
    log.info('before');
    await invocations.during({ requestId: 'outer' }, async () => {
      await invocations.during({ messageId: 'inner' }, async () => log.warn('within'));
      log.info('after');
    });
    expect(entries.map(({ fields }) => fields)).toEqual([{}, { messageId: 'inner' }, { requestId: 'outer' }]);
  });

  it('keep what they say themselves', async () => {
    const { log, invocations, entries } = setUp();
    await invocations.during({ messageId: 'first' }, async () => log.error('m', { messageId: 'other' }));
    expect(entries[0]?.fields).toEqual({ messageId: 'other' });
  });

  it('say of the first run of a container alone that it was a cold start', async () => {
    const invocations = createInvocations({ firstIsCold: true });
    const isCold = () => invocations.during({}, async () => invocations.current().coldStart);
    expect([await isCold(), await isCold()]).toEqual([true, undefined]);
  });
});

describe('what a recount is asked for by', () => {
  const sqs = mockClient(SQSClient);
  afterEach(() => void sqs.reset());

  const upload = { tenant: 'acme', reason: 'upload', full: false } as const;

  /** A queue on SQS, and the bodies that were sent. */
  function onSqs() {
    sqs.on(SendMessageCommand).resolves({});
    sqs.on(SendMessageBatchCommand).resolves({});
    const { invocations, log } = setUp();
    const queueUrl = 'https://sqs.eu-central-1.amazonaws.com/111122223333/recounts.fifo';
    const queue = createSqsRecountQueue({ queueUrl, clock: systemClock, invocations });
    const bodies = () => [
      ...sqs.commandCalls(SendMessageCommand).map(({ args }) => args[0].input.MessageBody ?? ''),
      ...sqs
        .commandCalls(SendMessageBatchCommand)
        .flatMap(({ args }) => (args[0].input.Entries ?? []).map(({ MessageBody }) => MessageBody ?? '')),
    ];
    return { queue, invocations, log, bodies };
  }

  it('is the request, in the message', async () => {
    const { queue, invocations, log, bodies } = onSqs();
    const handler = guard({ log, invocations }, respondProblem, async (event) => {
      await turns(event.requestContext.requestId.length);
      await queue.request({ ...upload, tenant: `t${event.requestContext.requestId}` });
      return json(200, {});
    });
    const ids = ['a', 'bbb', 'cc'];
    await Promise.all(ids.map((id) => handler(requestOf(id), contextOf('f'))));
    const sent = bodies().map((body) => JSON.parse(body));
    expect(sent.map(({ tenant, correlationId }) => [tenant, correlationId]).sort()).toEqual(
      [...ids].sort().map((id) => [`t${id}`, id]),
    );
  });

  it('is no part of what collapses: of two requests the queue keeps the first', async () => {
    const { queue, invocations } = onSqs();
    for (const requestId of ['first', 'second'])
      await invocations.during({ requestId }, () => queue.request(upload));
    const sent = sqs.commandCalls(SendMessageCommand).map(({ args }) => args[0].input);
    expect(sent.map(({ MessageDeduplicationId }) => MessageDeduplicationId)).not.toContainEqual(
      expect.stringMatching(/first|second/),
    );
  });

  it('is the run of the schedule, for all that it finds due', async () => {
    const { queue, invocations, log, bodies } = onSqs();
    const world = new MemoryStack();
    await world.create();
    world.nowMs += 30 * 24 * 3_600_000;
    await createRefresh({ ...world.deps, queue, invocations, log })({}, { awsRequestId: 'run-1' });
    expect(bodies().map((body) => JSON.parse(body))).toMatchObject([
      { tenant: 'acme', reason: 'schedule', correlationId: 'run-1' },
    ]);
  });

  it('stays the same where a recount is deferred and asked for again', async () => {
    const { queue, invocations, log, bodies } = onSqs();
    const world = new MemoryStack({ recountRestMs: 3_600_000 });
    await world.create();
    const handler = createReconcile({
      ...world.deps,
      queue,
      invocations,
      log,
      metrics: noMetrics,
      redelivery: { delay: () => Promise.reject(new Error('Nothing failed.')) },
    });
    let event = toSqsEvent(newMessage(upload, { nowMs: 0, messageId: 'm0', correlationId: 'request-1' }));
    for (const index of [1, 2, 3]) {
      expect(await handler(event, contextOf(`f${index}`))).toEqual({ batchItemFailures: [] });
      expect(bodies()).toHaveLength(index);
      const body = bodies().at(-1) ?? '';
      expect(JSON.parse(body)).toMatchObject({ ...upload, correlationId: 'request-1' });
      event = { Records: event.Records.map((record) => ({ ...record, messageId: `m${index}`, body })) };
    }
  });

  it('is the message itself where it names no cause, and nothing outside of any run', () => {
    expect(causeOf({ messageId: 'm' })).toBe('m');
    expect(causeOf({ messageId: 'm', correlationId: 'r' })).toBe('r');
    expect(causeOf({ requestId: 'r', functionRequestId: 'f' })).toBe('r');
    expect(causeOf({})).toBeUndefined();
  });

  it.each(['JKJaXmPLvHcESHA=', 'bc2f4b1c-7d36-4a2e-93a5-0d6d6ac0e9d1'])('may be called %s', (id) => {
    expect(isCorrelationId(id)).toBe(true);
  });
});
