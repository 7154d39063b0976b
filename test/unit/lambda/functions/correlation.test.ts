import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../../lambda/core/rules/clock-and-log.ts';
import { json } from '../../../../lambda/frame/api/http.ts';
import { respondProblem } from '../../../../lambda/frame/api/problems.ts';
import { systemClock } from '../../../../lambda/frame/aws/clock-and-ids.ts';
import { guard } from '../../../../lambda/frame/aws/function.ts';
import { createInvocationLog, createInvocations } from '../../../../lambda/frame/aws/invocation-log.ts';
import { createSqsReconcileQueue } from '../../../../lambda/frame/aws/sqs.ts';
import { create as createReconcile } from '../../../../lambda/frame/work/reconcile.ts';
import { create as createRefresh } from '../../../../lambda/functions/refresh.ts';
import { noMetrics } from '../../../../local/lambda-context.ts';
import { deliver } from '../../../support/delivery.ts';
import { contextOf, requestOf, turns } from '../../../support/invocation.ts';
import { MemoryStack } from '../../../support/memory/stack.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { fakeSqs, queueUrl } from '../frame/aws/fake-sqs.ts';

function setUp() {
  const invocations = createInvocations();
  return { invocations, log: createInvocationLog(recordingLog().log, invocations) };
}

describe('the cause of a reconcile', () => {
  const upload = { tenant: 'acme', reason: 'upload', full: false } as const;

  /** A queue on SQS, and the message bodies that were sent. */
  function onSqs(clock: Clock = systemClock) {
    const { client, sent } = fakeSqs();
    const { invocations, log } = setUp();
    const queue = createSqsReconcileQueue({ client, queueUrl, clock, invocations });
    const bodies = () => sent().map(({ MessageBody }) => MessageBody);
    return { queue, invocations, log, bodies, sent };
  }

  it('is the request that requested it, and its message names it', async () => {
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

  it('does not keep two requests from collapsing: the queue keeps the first', async () => {
    const { queue, invocations, sent } = onSqs();
    for (const requestId of ['first', 'second'])
      await invocations.during({ requestId }, () => queue.request(upload));
    expect(sent().map(({ MessageDeduplicationId }) => MessageDeduplicationId)).not.toContainEqual(
      expect.stringMatching(/first|second/),
    );
  });

  it('is the run of the schedule, for every tenant that it finds due', async () => {
    const { queue, invocations, log, bodies } = onSqs();
    const world = new MemoryStack();
    await world.create();
    world.nowMs += 30 * 24 * 3_600_000;
    await createRefresh({ ...world.deps, queue, invocations, log })({}, { awsRequestId: 'run-1' });
    expect(bodies().map((body) => JSON.parse(body))).toMatchObject([
      { tenant: 'acme', reason: 'schedule', correlationId: 'run-1' },
    ]);
  });

  it('stays the same if a reconcile is deferred and queued again', async () => {
    // A message is delivered 35 s after it was sent.
    let nowMs = 0;
    const later = () => {
      nowMs += 35_000;
      return nowMs;
    };
    const { queue, invocations, log, bodies } = onSqs({ ...systemClock, nowMs: later });
    const world = new MemoryStack({ reconcileRestMs: 3_600_000 });
    await world.create();
    const consume = createReconcile({
      ...world.deps,
      queue,
      invocations,
      log,
      metrics: noMetrics,
    });
    let body = JSON.stringify({ ...upload, correlationId: 'request-1' });
    for (const index of [1, 2, 3]) {
      expect(await deliver(consume, body, { messageId: `m${index}` })).toEqual({ isDone: true, delays: [] });
      expect(bodies()).toHaveLength(index);
      body = bodies().at(-1) ?? '';
      expect(JSON.parse(body)).toMatchObject({ ...upload, correlationId: 'request-1' });
    }
  });
});
