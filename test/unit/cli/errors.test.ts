import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, cli, startServer, type TestServer } from './harness.ts';

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function ask(answer: Answer, ...args: string[]) {
  server = await startServer(() => answer);
  return cli([...args, '--url', server.url, '--token', 'secret-token']);
}

function problem(status: number, detail: string): Answer {
  const body = { type: 'about:blank', title: 'Refused', status, detail };
  return { status, body, type: 'application/problem+json' };
}

describe('a request that the server refuses', () => {
  it.each([
    [401, 4, 'No credentials.', 'Log in again: lfs-quota login http://127.0.0.1:'],
    [403, 4, 'Needs the scope manage.', 'See yours: lfs-quota whoami'],
    [404, 3, 'No such tenant.', 'lfs-quota whoami'],
    [409, 5, 'acme exists.', 'Nothing changed'],
    [422, 5, 'limitBytes must be a whole number.', 'Fix the value'],
    [429, 6, 'Not counted yet.', 'Retry in a few seconds'],
    [503, 6, 'The store does not answer.', 'Server error: see its log.'],
  ])('%i: ends with %i, and says why and what to do next', async (status, code, detail, hint) => {
    const result = await ask(problem(status, detail), 'usage', 'acme');
    expect(result).toMatchObject({ code, out: '' });
    expect(result.err).toContain(`error: ${detail} (${status})\n`);
    expect(result.err).toContain(hint);
    expect(result.err).not.toContain('secret-token');
  });

  it.each([400, 404, 418, 501])(
    '%i without a problem body: names the request and the address',
    async (status) => {
      const result = await ask({ status, body: '<html>' }, 'usage', 'acme');
      expect(result.err).toContain(`GET /v1/tenants/acme/subscription returned ${status}.`);
      expect(result.err).toContain('LFS_QUOTA_URL');
      expect(result.code).toBe(1);
    },
  );

  it('lets no text of the server control the terminal', async () => {
    const result = await ask(problem(422, 'no \u001b[2Jplan'), 'usage', 'acme');
    expect(result.err).toContain('no \ufffd[2Jplan (422)');
  });

  it.each([
    ['a page', '<html>'],
    ['other JSON', '{"hello":1}'],
    ['nothing', ''],
    ['JSON that is too deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ])('a 200 with %s is not a response of lfs-quota', async (_, body) => {
    const result = await ask({ status: 200, body }, 'tenant', 'list', '--json');
    expect(result).toMatchObject({ code: 1, out: '' });
    expect(result.err).toContain("isn't lfs-quota's");
  });

  it('follows no redirect, which would send the token elsewhere', async () => {
    const result = await ask({ status: 302 }, 'tenant', 'list');
    expect(result.code).toBe(1);
    expect(server?.asked).toHaveLength(1);
  });
});

describe('without a server', () => {
  it('says how to start a server', async () => {
    const gone = await startServer(() => ({ status: 200 }));
    await gone.close();
    const result = await cli(['tenant', 'list', '--url', gone.url, '--token', 'x']);
    expect(result.code).toBe(6);
    expect(result.err).toContain(`Can't reach ${gone.url} (ECONNREFUSED)`);
    expect(result.err).toContain('npm start');
  });
});

describe('an address that is not quite right', () => {
  const whoami = async (url: string) => (await cli(['whoami', '--url', url, '--token', 'x'])).err;

  it('with https for a server without TLS says so', async () => {
    server = await startServer(() => ({ status: 200 }));
    expect(await whoami(server.url.replace('http:', 'https:'))).toContain(
      `It speaks plain HTTP. Use ${server.url}\n`,
    );
  });

  it('of no host says what to check', async () => {
    expect(await whoami('https://lfs.invalid')).toMatch(/^error: Can't reach .*\nCheck the URL/);
  });

  it('that is the lfs.url of a repo is its server', async () => {
    server = await startServer(() => ({ status: 401 }));
    await whoami(`${server.url}/acme/game.git/info/lfs`);
    expect(server.asked[0]?.path).toBe('/v1/session');
  });
});

describe('a wrong command line sends nothing and exits with 2', () => {
  it('without a word', async () => {
    const { code, out, err } = await cli([], { env: { LFS_QUOTA_TOKEN: 'x' } });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('Usage:');
  });

  it.each([
    [{}, 'No token.'],
    [{ LFS_QUOTA_TOKEN: '' }, 'No token.'],
    [{ LFS_QUOTA_TOKEN: 'x', LFS_QUOTA_URL: '127.0.0.1:8787' }, "isn't a URL"],
    [{ LFS_QUOTA_TOKEN: 'x', LFS_QUOTA_URL: 'ftp://a' }, "isn't a URL"],
  ])('environment %j', async (env, says) => {
    const result = await cli(['tenant', 'list'], { env });
    expect(result.err).toContain(says);
    expect(result.code).toBe(2);
  });

  it.each([
    ['repo', 'create', 'acme', 'game'],
    ['scan', 'pause', 'acme', 'game'],
    ['token', 'list', 'acme'],
  ])('%s %s names each token that its route takes', async (...words) => {
    const { err } = await cli(words, { env: {} });
    expect(err).toContain('You need the admin token, or one of the tenant with the scope manage.');
  });

  it('does not print a token that no header can carry', async () => {
    const result = await cli(['tenant', 'list'], { env: { LFS_QUOTA_TOKEN: 'sec\nret' } });
    expect(result.code).toBe(2);
    expect(result.err).not.toMatch(/sec|ret$/);
  });

  it('help that was asked for is not an error', async () => {
    const result = await cli(['tenant', 'limit', '--help']);
    expect(result).toMatchObject({ code: 0, err: '' });
    expect(result.out).toContain('LFS_QUOTA_URL');
  });
});
