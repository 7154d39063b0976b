import { expect, it } from 'vitest';
import { withMetrics } from '../../../../lambda/runtime/with-metrics.ts';
import { noMetrics } from '../../../../local/lambda-context.ts';

it.each(['returns', 'throws'])('what an invocation measured is sent once its handler %s', async (which) => {
  const steps: string[] = [];
  const run = async (given: string) => {
    steps.push('run');
    if (which === 'throws') throw new Error(given);
    return given;
  };
  const handler = withMetrics({ ...noMetrics, flush: () => void steps.push('flush') }, run);
  await handler('x').catch((error: Error) => expect(error.message).toBe('x'));
  expect(steps).toEqual(['run', 'flush']);
});
