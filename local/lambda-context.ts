import { randomUUID } from 'node:crypto';
import type { Context } from 'aws-lambda';
import type { Metrics } from '../lambda/core/rules/metrics.ts';
import type { FunctionName } from '../lambda/routes.ts';

/**
 * The context that Lambda passes to a function: its name, an id of this invocation, and the time that is left.
 * `timeLimitMs` counts from now.
 */
export function lambdaContext(input: { functionName: FunctionName; timeLimitMs: number }): Context {
  const endsAtMs = performance.now() + input.timeLimitMs;
  const legacy = () => {
    throw new Error('A function answers by its promise, not by a callback of the context.');
  };
  return {
    callbackWaitsForEmptyEventLoop: false,
    functionName: input.functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:local:000000000000:function:${input.functionName}`,
    memoryLimitInMB: '256',
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${input.functionName}`,
    logStreamName: 'embedded',
    getRemainingTimeInMillis: () => Math.max(0, Math.round(endsAtMs - performance.now())),
    done: legacy,
    fail: legacy,
    succeed: legacy,
  };
}

/** Metrics that go nowhere: for the embedded stack, whose log has the same facts, and for tests. */
export const noMetrics: Metrics = {
  increment: () => undefined,
  measure: () => undefined,
  flush: () => undefined,
};
