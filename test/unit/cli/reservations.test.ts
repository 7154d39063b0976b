import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, cli, startServer, type TestServer } from './harness.ts';

const mib = 1024 ** 2;
let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

describe('reservation cancel', () => {
  const cancelled = (cancelledCount: number, hasMore = false): Answer => ({
    status: 200,
    body: { tenant: 'acme', cancelledCount, bytes: mib, hasMore },
  });
  const start = async (answers: Answer[], ask?: (question: string) => Promise<string>) => {
    server = await startServer(() => answers.shift() ?? cancelled(0));
    const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
    const { asked } = server;
    return {
      paths: () => asked.map(({ method, path }) => `${method} ${path}`),
      run: (...args: string[]) =>
        cli(['reservation', 'cancel', 'acme', ...args], { env, ...(ask && { ask }) }),
    };
  };

  it('asks, and goes on until none is left', async () => {
    const questions: string[] = [];
    const { paths, run } = await start([cancelled(1000, true), cancelled(1)], async (question) => {
      questions.push(question);
      return 'y';
    });
    const result = await run('--made-by', 'github:7');
    expect(result).toMatchObject({
      code: 0,
      out: 'Cancelled 1,001 reservations, 2 MiB. A recount frees their space.\n',
    });
    expect(questions).toHaveLength(1);
    const path = '/v1/tenants/acme/reservations?madeBy=github%3A7';
    expect(paths()).toEqual([`DELETE ${path}`, `DELETE ${path}`]);
  });

  it('gives up nothing unless somebody says yes, and says which', async () => {
    const { paths, run } = await start([], async () => 'n');
    expect(await run('--all')).toMatchObject({ code: 1, out: '' });
    expect(await run()).toMatchObject({ code: 2, out: '' });
    expect(await run('--all', '--id', 'x')).toMatchObject({ code: 2, out: '' });
    expect(paths()).toEqual([]);
  });

  it('without a terminal wants --yes', async () => {
    const { paths, run } = await start([cancelled(1)]);
    expect(await run('--repo', 'game', '--id', 'x')).toMatchObject({ code: 2 });
    expect(await run('--repo', 'game', '--id', 'x', '--yes', '--json')).toMatchObject({
      code: 0,
      out: `{"tenant":"acme","cancelledCount":1,"bytes":${mib},"hasMore":false}\n`,
    });
    expect(paths()).toEqual(['DELETE /v1/tenants/acme/reservations?repo=game&id=x']);
  });
});
