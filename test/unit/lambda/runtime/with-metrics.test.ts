import { expect, it } from 'vitest';
import { withMetrics } from '../../../../lambda/runtime/with-metrics.ts';
import { noMetrics } from '../../../../local/no-metrics.ts';

it.each(['answers', 'throws'])('what a run measured is sent once it %s', async (which) => {
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
