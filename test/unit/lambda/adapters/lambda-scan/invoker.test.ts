import { afterEach, describe, expect, it } from 'vitest';
import {
  FunctionInvoker,
  type InvocationOutcome,
} from '../../../../../lambda/adapters/lambda-scan/invoker.ts';
import { FakeLambda, type InvocationFate } from '../../../../support/fake-lambda.ts';

const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

/** Lambda gives each invocation the next of these fates, the last one again and again. */
async function lambdaWith(...fates: InvocationFate[]) {
  const lambda = new FakeLambda(({ index }) => fates[Math.min(index, fates.length - 1)] as InvocationFate);
  const endpoint = await lambda.listen();
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret', sessionToken: 'session' };
  const place = { region: 'eu-central-1', endpoint, credentials };
  const invoker = new FunctionInvoker('lfs-quota-scanShard', place);
  endings.push(
    () => invoker.destroy(),
    () => lambda.close(),
  );
  const invoke = (more: { withinMs?: number; stop?: AbortSignal } = {}): Promise<InvocationOutcome> =>
    invoker.invoke({ event: { a: 1 }, withinMs: 20_000, stop: new AbortController().signal, ...more });
  return { lambda, invoke };
}

const ok: InvocationFate = { kind: 'answer', payload: { b: [2] } };
const answered = { kind: 'answered', payload: '{"b":[2]}' };
const throttled: InvocationFate = { kind: 'refusal', status: 429, code: 'TooManyRequestsException' };

describe('an invocation', () => {
  it('is signed, waits for the answer, and returns it as it is', async () => {
    const { lambda, invoke } = await lambdaWith(ok);
    expect(await invoke()).toEqual(answered);
    expect(lambda.invocations).toMatchObject([
      {
        functionName: 'lfs-quota-scanShard',
        event: { a: 1 },
        headers: {
          'x-amz-security-token': 'session',
          authorization: expect.stringMatching(
            /^AWS4-HMAC-SHA256 Credential=key\/\d{8}\/eu-central-1\/lambda\/aws4_request, /,
          ),
        },
      },
    ]);
  });

  it('fails with what the function says of its end, and is not made again', async () => {
    const { lambda, invoke } = await lambdaWith({ kind: 'function error', message: 'Task timed out' });
    const outcome = await invoke();
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { name: 'FunctionFailedError', message: expect.stringMatching(/Unhandled.*Task timed out/) },
    });
    expect(lambda.invocations).toHaveLength(1);
  });

  it('is made again after throttling, soon', async () => {
    const { lambda, invoke } = await lambdaWith(throttled, throttled, ok);
    expect(await invoke()).toEqual(answered);
    expect(lambda.invocations).toHaveLength(3);
  });

  it('is throttled if Lambda has no room after three attempts, whatever it asks to wait', async () => {
    const { lambda, invoke } = await lambdaWith({ ...throttled, headers: { 'retry-after': '1' } });
    expect(await invoke()).toEqual({ kind: 'throttled' });
    expect(lambda.invocations).toHaveLength(3);
  });

  it('is made again if Lambda fails, or the connection is closed', async () => {
    const { lambda, invoke } = await lambdaWith(
      { kind: 'refusal', status: 500, code: 'ServiceException' },
      { kind: 'closed connection' },
      ok,
    );
    expect(await invoke()).toEqual(answered);
    expect(lambda.invocations).toHaveLength(3);
  });

  it('fails at once if it is refused', async () => {
    const { lambda, invoke } = await lambdaWith({
      kind: 'refusal',
      status: 403,
      code: 'AccessDeniedException',
    });
    expect(await invoke()).toMatchObject({
      kind: 'failed',
      error: { status: 403, code: 'AccessDeniedException' },
    });
    expect(lambda.invocations).toHaveLength(1);
  });

  it('ends when its time is up, although nothing arrives', async () => {
    const { lambda, invoke } = await lambdaWith({ kind: 'silence' });
    expect(await invoke({ withinMs: 30 })).toMatchObject({
      kind: 'failed',
      error: { name: 'SilentFunctionError', message: 'The function did not answer within 30 ms.' },
    });
    expect(lambda.invocations.length).toBeLessThanOrEqual(1);
  });

  it('ends with the reason of who stops it', async () => {
    const { lambda, invoke } = await lambdaWith({ kind: 'silence' });
    const stop = new AbortController();
    const running = invoke({ stop: stop.signal });
    while (lambda.invocations.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    stop.abort(new Error('The lease is lost.'));
    await expect(running).rejects.toThrow('The lease is lost.');
    await expect(invoke({ stop: stop.signal })).rejects.toThrow('The lease is lost.');
    expect(lambda.invocations).toHaveLength(1);
  });
});
