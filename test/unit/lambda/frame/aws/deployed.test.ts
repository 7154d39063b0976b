import { afterEach, describe, expect, it, vi } from 'vitest';
import { deployed } from '../../../../../lambda/frame/aws/deployed.ts';
import { lambdaContext } from '../../../../../local/lambda-context.ts';

/** A handler that is made as a file of lambda/functions makes it, and the steps in their order. */
async function makeHandler() {
  const steps: string[] = [];
  const handler = await deployed(
    (deps: string) => async (event: string) => `${deps} ${event}`,
    () => {
      steps.push('compose');
      return 'deps';
    },
    async (deps) => void steps.push(`prepare ${deps}`),
  );
  return { handler, steps };
}

describe('a handler', () => {
  const context = lambdaContext({ functionName: 'health', timeLimitMs: 1000 });
  afterEach(() => vi.unstubAllEnvs());

  it('on Lambda is composed and prepared before its first event', async () => {
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'health');
    const { handler, steps } = await makeHandler();
    expect(steps).toEqual(['compose', 'prepare deps']);
    expect(await handler('event', context)).toBe('deps event');
    expect(steps).toHaveLength(2);
  });

  it('elsewhere is composed at its first event, and once', async () => {
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', undefined);
    const { handler, steps } = await makeHandler();
    expect(steps).toEqual([]);
    for (const event of ['a', 'b']) expect(await handler(event, context)).toBe(`deps ${event}`);
    expect(steps).toEqual(['compose']);
  });
});
