import { describe, expect, it } from 'vitest';
import { createInvocations } from '../../../../../lambda/adapters/system/async-invocations.ts';
import { createInvocationLog } from '../../../../../lambda/adapters/system/invocation-log.ts';
import { respondProblem } from '../../../../../lambda/http/management/access.ts';
import { json } from '../../../../../lambda/http/respond.ts';
import { guard } from '../../../../../lambda/runtime/guard.ts';
import { withInvocation } from '../../../../../lambda/runtime/with-invocation.ts';
import { lambdaContext } from '../../../../../local/lambda-context.ts';
import { httpEvent } from '../../../../support/http-event.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

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
