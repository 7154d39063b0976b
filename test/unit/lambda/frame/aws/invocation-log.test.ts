import { describe, expect, it } from 'vitest';
import { json } from '../../../../../lambda/frame/api/http.ts';
import { respondProblem } from '../../../../../lambda/frame/api/problems.ts';
import { guard, withInvocation } from '../../../../../lambda/frame/aws/function.ts';
import { createInvocationLog, createInvocations } from '../../../../../lambda/frame/aws/invocation-log.ts';
import { contextOf, requestOf, turns } from '../../../../support/invocation.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

function setUp() {
  const { log, entries } = recordingLog();
  const invocations = createInvocations();
  return { invocations, entries, log: createInvocationLog(log, invocations) };
}

describe('a log line', () => {
  it('has the ids of its own request, of many that run at a time', async () => {
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

  it('has the id of the run if there is no HTTP request', async () => {
    const { log, invocations, entries } = setUp();
    const run = withInvocation(invocations, async () => log.info('ran'));
    await Promise.all([run({}, { awsRequestId: 'a' }), run({}, { awsRequestId: 'b' })]);
    expect(entries.map(({ fields }) => fields)).toEqual([
      { requestId: 'a', functionRequestId: 'a' },
      { requestId: 'b', functionRequestId: 'b' },
    ]);
  });

  it('has no ids outside an invocation, and those of the outer one again after an inner one', async () => {
    const { log, invocations, entries } = setUp();
    log.info('before');
    await invocations.during({ requestId: 'outer' }, async () => {
      await invocations.during({ messageId: 'inner' }, async () => log.warn('within'));
      log.info('after');
    });
    expect(entries.map(({ fields }) => fields)).toEqual([{}, { messageId: 'inner' }, { requestId: 'outer' }]);
  });

  it('keeps its own fields if an id has the same name', async () => {
    const { log, invocations, entries } = setUp();
    await invocations.during({ messageId: 'first' }, async () => log.error('m', { messageId: 'other' }));
    expect(entries[0]?.fields).toEqual({ messageId: 'other' });
  });

  it('marks only the first invocation of a container as a cold start', async () => {
    const invocations = createInvocations({ firstIsCold: true });
    const isCold = () => invocations.during({}, async () => invocations.current().coldStart);
    expect([await isCold(), await isCold()]).toEqual([true, undefined]);
  });
});
