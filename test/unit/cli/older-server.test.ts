import { expect, it } from 'vitest';
import { exampleAnswer } from './api-examples.ts';
import { cli, startServer } from './harness.ts';

/** Fields that an older server doesn't send. */
const newer = ['atLeast', 'limitContactUrl', 'maxUsedBytes', 'repoRefusals'];

it.each([
  ['whoami', 'limitContactUrl'],
  ['history acme', 'maxUsedBytes'],
  ['history acme --table', 'repoRefusals'],
])('%s works with a server that has no %s yet', async (line) => {
  const said = await Promise.all(
    [[], newer].map(async (left) => {
      const server = await startServer((asked) => {
        const answer = exampleAnswer(asked);
        return { ...answer, body: without(answer.body, left) };
      });
      const args = [...line.split(' '), '--url', server.url, '--token', 't'];
      const { code, out } = await cli(args).finally(server.close);
      return { code, out: out.replaceAll(server.url, 'URL') };
    }),
  );
  expect(said[1]).toEqual({ ...said[0], code: 0 });
});

it('still tells an answer that lacks what every server sends', async () => {
  const server = await startServer(() => ({ status: 200, body: { kind: 'tenant' } }));
  const { code, err } = await cli(['whoami', '--url', server.url, '--token', 't']).finally(server.close);
  expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining("isn't lfs-quota's") });
});

function without(body: unknown, names: readonly string[]): unknown {
  return JSON.parse(JSON.stringify(body, (name, value) => (names.includes(name) ? undefined : value)));
}
