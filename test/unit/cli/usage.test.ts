import { expect, it } from 'vitest';
import { exampleAnswer } from './api-examples.ts';
import { type Asked, cli, startServer } from './harness.ts';

function scanned(asked: Asked, source: string, refreshing = false) {
  const answer = exampleAnswer(asked);
  const body = answer.body as { usage: object };
  return { ...answer, body: { ...body, refreshing, usage: { ...body.usage, source } } };
}

it('usage --watch redraws in place, and reconciles only the first time', async () => {
  const server = await startServer((asked) => scanned(asked, 'scan'));
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

const refused =
  'error: Your token can read usage, but not --refresh it.\nYou need the admin token, or one of the tenant with the scope manage. Show the last scan: lfs-quota usage acme\n';

it.each([
  ['cache', false, 4, refused],
  ['cache', true, 0, ''],
  ['scan', false, 0, ''],
] as const)(
  'usage --refresh fails if its token can’t scan (%s, %s)',
  async (source, refreshing, ...expected) => {
    const server = await startServer((asked) => scanned(asked, source, refreshing));
    const { code, err, out } = await cli([
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
    expect([code, err]).toEqual(expected);
    // Old figures aren't what was asked for.
    expect(out === '').toBe(code !== 0);
  },
);
