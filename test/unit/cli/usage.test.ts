import { expect, it } from 'vitest';
import { exampleAnswer } from './api-examples.ts';
import { cli, startServer } from './harness.ts';

it('usage --watch redraws in place, and reconciles only the first time', async () => {
  const server = await startServer((asked) => exampleAnswer(asked));
  let sleeps = 0;
  const result = await cli(['usage', 'acme', '--watch', '--refresh', '--url', server.url, '--token', 't'], {
    isTerminal: true,
    sleep: async () => {
      sleeps += 1;
      // What ends it here stands for the server going away.
      if (sleeps === 2) await server.close();
    },
  });
  expect(result.code).toBe(6);
  expect(result.out.split('\u001b[13A\u001b[J')).toHaveLength(2);
  expect(server.asked.map(({ path }) => path.split('?')[1])).toEqual(['refresh=true', undefined]);
});

it.each([
  [
    'cache',
    false,
    'Not scanned: --refresh needs the admin token, or one of the tenant with the scope manage.\n',
  ],
  ['cache', true, ''],
  ['scan', false, ''],
] as const)('usage --refresh says whether its token may scan (%s, %s)', async (source, refreshing, said) => {
  const server = await startServer((asked) => {
    const answer = exampleAnswer(asked);
    const body = answer.body as { usage: object };
    return { ...answer, body: { ...body, refreshing, usage: { ...body.usage, source } } };
  });
  const { code, err } = await cli([
    'usage',
    'acme',
    '--refresh',
    '--json',
    '--url',
    server.url,
    '--token',
    't',
  ]);
  await server.close();
  expect([code, err]).toEqual([0, said]);
});
