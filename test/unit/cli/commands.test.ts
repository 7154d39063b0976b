import { afterEach, describe, expect, it } from 'vitest';
import { tokenIdOf } from '../../../lambda/domain/token.ts';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

const usage = {
  storedBytes: 1536,
  objectCount: 1204,
  reservedBytes: 0,
  reservedUntil: null,
  committedBytes: 1536,
  countedAt: '2026-11-21T04:59:48Z',
  source: 'cache',
};
const acme = {
  tenant: 'acme',
  plan: 'pro',
  limitBytes: 1024 ** 3,
  downloadLimitBytes: null,
  reposMustExist: false,
  createdAt: '2026-11-20T05:00:00Z',
  usage,
};

let server: TestServer | undefined;

async function serve(answer: Answer | ((asked: Asked) => Answer)) {
  server = await startServer(typeof answer === 'function' ? answer : () => answer);
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'admin-secret' };
  return { asked: server.asked, run: (...args: string[]) => cli(args, { env }) };
}

afterEach(async () => {
  await server?.close();
  server = undefined;
});

describe('tenant', () => {
  it('creates a tenant without a limit, said or not', async () => {
    const { asked, run } = await serve({ status: 201, body: { ...acme, limitBytes: null } });
    expect(await run('tenant', 'create', 'acme', '--limit', 'unlimited')).toMatchObject({ code: 0 });
    expect(await run('tenant', 'create', 'acme')).toMatchObject({ code: 0 });
    expect(asked.map(({ body }) => body)).toEqual([{ tenant: 'acme', limitBytes: null }, { tenant: 'acme' }]);
  });

  it('creates a tenant with limit and plan, and sends the token as Bearer', async () => {
    const { asked, run } = await serve({ status: 201, body: acme });
    const result = await run('tenant', 'create', 'acme', '--limit', '1GiB', '--plan', 'pro');
    expect(result).toMatchObject({ code: 0, err: '' });
    expect(result.out).toContain('limit    1 GiB\nstored   1.5 KiB\n');
    expect(asked).toEqual([
      {
        method: 'POST',
        path: '/v1/tenants',
        authorization: 'Bearer admin-secret',
        body: { tenant: 'acme', limitBytes: 1024 ** 3, plan: 'pro' },
      },
    ]);
  });

  it('sends only the options that were given', async () => {
    const { asked, run } = await serve({ status: 201, body: { ...acme, plan: null, usage: null } });
    const result = await run('tenant', 'create', 'acme');
    expect(result.out).toContain('stored   not counted yet');
    expect(asked[0]?.body).toEqual({ tenant: 'acme' });
  });

  it('lists every page', async () => {
    const other = { ...acme, tenant: 'zeta', plan: null, limitBytes: null, usage: null };
    const { asked, run } = await serve(({ path }) =>
      path.includes('cursor=')
        ? { status: 200, body: { tenants: [other], nextCursor: null } }
        : { status: 200, body: { tenants: [acme], nextCursor: 'cYWNtZQ' } },
    );
    const result = await run('tenant', 'list', '--page-size', '1');
    expect(asked.map(({ path }) => path)).toEqual([
      '/v1/tenants?limit=1',
      '/v1/tenants?cursor=cYWNtZQ&limit=1',
    ]);
    expect(result.out).toBe(
      [
        'tenant  plan      limit  taken   stored  objects  counted',
        'acme    pro       1 GiB   0.1%  1.5 KiB    1,204  12 s ago',
        'zeta    -     unlimited      -        -        -  never',
        '',
      ].join('\n'),
    );
  });

  it.each([
    [1000, 500, 300, '80.0%'],
    [1000, 1200, 0, '120.0%'],
    [0, 0, 0, '100%'],
  ])(
    'of limit %i shows %i stored and %i reserved as %s',
    async (limitBytes, storedBytes, reservedBytes, share) => {
      const body = { ...acme, limitBytes, usage: { ...acme.usage, storedBytes, reservedBytes } };
      const { run } = await serve({ status: 200, body: { tenants: [body], nextCursor: null } });
      expect((await run('tenant', 'list')).out).toContain(` ${share} `);
    },
  );

  it('says what to do when there are no tenants', async () => {
    const { run } = await serve({ status: 200, body: { tenants: [], nextCursor: null } });
    expect((await run('tenant', 'list')).out).toContain('tenant create NAME');
  });

  it('shows a tenant', async () => {
    const { asked, run } = await serve({ status: 200, body: acme });
    expect((await run('tenant', 'show', 'acme')).out).toContain('created  24 h ago');
    expect(asked[0]).toMatchObject({ method: 'GET', path: '/v1/tenants/acme' });
  });

  it.each([
    ['500MB', 500_000_000],
    ['0', 0],
    ['unlimited', null],
  ])('changes the limit to %s', async (size, limitBytes) => {
    const { asked, run } = await serve({ status: 200, body: { ...acme, limitBytes } });
    expect((await run('tenant', 'limit', 'acme', size, '--yes')).code).toBe(0);
    expect(asked).toMatchObject([{ method: 'PATCH', path: '/v1/tenants/acme', body: { limitBytes } }]);
  });
});

describe('new repos', () => {
  it.each([
    ['created', true],
    ['pushed', false],
  ])('are %s', async (how, reposMustExist) => {
    const { asked, run } = await serve({ status: 200, body: { ...acme, reposMustExist } });
    const { out } = await run('tenant', 'new-repos', 'acme', how);
    expect(asked[0]).toMatchObject({ method: 'PATCH', path: '/v1/tenants/acme', body: { reposMustExist } });
    expect(out.includes('have to be created before a push')).toBe(reposMustExist);
  });

  it('come in no other way', async () => {
    const { asked, run } = await serve({ status: 200, body: acme });
    expect((await run('tenant', 'new-repos', 'acme', 'never')).code).toBe(2);
    expect(asked).toEqual([]);
  });
});

describe('a repo', () => {
  const repo = { repo: 'game', limitBytes: null, storedBytes: 0, objectCount: 0, countedAt: null };

  it('is created, with a limit or without', async () => {
    const { asked, run } = await serve({ status: 201, body: { ...repo, limitBytes: 4096 } });
    const { out } = await run('repo', 'create', 'acme', 'game', '--limit', '4KiB');
    expect(asked[0]).toMatchObject({
      method: 'POST',
      path: '/v1/tenants/acme/repos',
      body: { repo: 'game', limitBytes: 4096 },
    });
    expect(out).toContain('4 KiB');
    await run('repo', 'create', 'acme', 'game');
    expect(asked[1]?.body).toEqual({ repo: 'game' });
  });

  it('is limited, and its limit is lifted', async () => {
    const { asked, run } = await serve({ status: 200, body: repo });
    expect((await run('repo', 'limit', 'acme', 'game', '1GB', '--yes')).code).toBe(0);
    const path = '/v1/tenants/acme/repos/game';
    expect(asked[0]).toMatchObject({ method: 'PATCH', path, body: { limitBytes: 1e9 } });
    await run('repo', 'limit', 'acme', 'game', 'unlimited');
    expect(asked[1]?.body).toEqual({ limitBytes: null });
  });
});

it.each(['downloads', 'audit', 'history'])(
  '%s of days the wrong way round are not asked for',
  async (command) => {
    const { asked, run } = await serve({ status: 200, body: {} });
    const days = ['--from', '2026-11-21', '--to', '2026-11-20'];
    const { code, err } = await run(command, 'acme', ...days);
    expect([code, asked]).toEqual([2, []]);
    expect(err).toContain('--from 2026-11-21 is after --to 2026-11-20. Swap them.');
  },
);

describe('downloads', () => {
  const row = (day: string, repo: string, tokenId: string, bytes: number) => ({
    day,
    repo,
    tokenId,
    bytes,
    objects: 1,
  });
  const page = {
    month: {
      month: '2026-11',
      bytes: 3 * 1024 ** 2,
      objects: 3,
      limitBytes: 1024 ** 3,
      resetsAt: '2026-12-01T00:00:00Z',
    },
    downloads: [
      row('2026-11-20', 'game', 'k1', 1024 ** 2),
      row('2026-11-21', 'film', 'k2', 1024 ** 2),
      row('2026-11-21', 'game', 'k1', 1024 ** 2),
    ],
    nextCursor: null,
  };

  it.each([
    [[], ['2026-11-20    1 MiB        1', '2026-11-21    2 MiB        2']],
    [
      ['--by', 'repo'],
      ['game    2 MiB        2', 'film    1 MiB        1'],
    ],
    [
      ['--by', 'token'],
      ['k1       2 MiB        2', 'k2       1 MiB        1'],
    ],
  ])('are summed with %j', async (options, lines) => {
    const { asked, run } = await serve({ status: 200, body: page });
    const { out } = await run('downloads', 'acme', '--from', '2026-11-20', ...options);
    expect(out).toContain('2026-11: 3 MiB offered, of 1 GiB, until 2026-12-01\n');
    expect(out.trimEnd().split('\n').slice(3)).toEqual(lines);
    expect(asked[0]?.path).toBe('/v1/tenants/acme/downloads?from=2026-11-20');
  });

  it('leave out what nothing was offered of', async () => {
    const nothing = { ...row('2026-11-21', 'any', 'k3', 0), objects: 0 };
    const empty = row('2026-11-21', 'docs', 'k1', 0);
    const downloads = [...page.downloads, nothing, empty];
    const { run } = await serve({ status: 200, body: { ...page, downloads } });
    const { out } = await run('downloads', 'acme', '--by', 'repo');
    expect(out).not.toContain('any');
    expect(out).toContain('docs      0 B        1\n');
  });

  it('of which there are none are no table', async () => {
    const none = { ...page, month: { ...page.month, bytes: 0, limitBytes: null }, downloads: [] };
    const { run } = await serve({ status: 200, body: none });
    expect((await run('downloads', 'acme')).out).toBe(
      '2026-11: 0 B offered, no limit\n\nNothing was offered on these days.\n',
    );
  });

  it('have a limit', async () => {
    const { asked, run } = await serve({ status: 200, body: { ...acme, downloadLimitBytes: 1024 ** 4 } });
    expect((await run('tenant', 'download-limit', 'acme', '1TiB', '-y')).out).toContain(
      'download 1 TiB a month\n',
    );
    expect(asked[0]).toMatchObject({ method: 'PATCH', body: { downloadLimitBytes: 1024 ** 4 } });
  });
});

describe('token', () => {
  const token = {
    tokenId: 'k1',
    scope: 'write',
    label: 'ci',
    user: null,
    repos: null,
    createdAt: '2026-11-21T04:00:00Z',
    expiresAt: null,
    lastUsedAt: null,
  };

  it('creates a token and prints its secret only to standard output', async () => {
    const { asked, run } = await serve({ status: 201, body: { ...token, token: 'lfsq_s', tenant: 'acme' } });
    const result = await run('token', 'create', 'acme', '--scope', 'write', '--label', 'ci');
    expect(result.out).toBe('token  lfsq_s\nid     k1\nscope  write\n');
    expect(result.err).not.toContain('lfsq_s');
    expect(asked[0]).toMatchObject({
      method: 'POST',
      path: '/v1/tenants/acme/tokens',
      body: { scope: 'write', label: 'ci' },
    });
  });

  it('lists tokens', async () => {
    const { run } = await serve({ status: 200, body: { tokens: [token], nextCursor: null } });
    expect((await run('token', 'list', 'acme')).out).toBe(
      'id  scope  user  repos  used   expires  label\nk1  write  -     all    never  never    ci\n',
    );
  });

  it('creates one with a user, repos and an end', async () => {
    const whose = { user: 'ada', repos: ['game', 'film'], expiresAt: '2027-02-19T05:00:00Z' };
    const body = { ...token, ...whose, token: 'lfsq_s', tenant: 'acme' };
    const { asked, run } = await serve({ status: 201, body });
    const options = ['--user', 'ada', '--repo', 'game', '--repo', 'film.git', '--expires', '90d'];
    const result = await run('token', 'create', 'acme', '--scope', 'write', ...options);
    expect(result.out).toContain(
      'user   ada\nrepos  game, film\nends   in 90 days, at 2027-02-19T05:00:00Z\n',
    );
    expect(asked[0]?.body).toEqual({
      scope: 'write',
      user: 'ada',
      repos: ['game', 'film'],
      expiresInSeconds: 7_776_000,
    });
  });

  it.each([
    ['Game', 'There\'s no repo "Game" yet (did you mean "game"?). The first push creates it.\n'],
    ['movie', 'There\'s no repo "movie" yet. The first push creates it.\n'],
    ['game', ''],
  ])('for the repo %s warns if there is none', async (name, warning) => {
    const repo = { repo: 'game', limitBytes: null, storedBytes: 0, objectCount: 0, countedAt: null };
    const rule = { ruleId: 'r1', issuer: 'https://gitlab.com', match: {}, scope: 'read', ttlSeconds: 3600 };
    const { run } = await serve(({ method, path }) => {
      if (method === 'POST' && path.endsWith('/exchange-rules'))
        return { status: 201, body: { ...rule, repos: [name], createdAt: token.createdAt, warning: null } };
      if (method === 'POST')
        return { status: 201, body: { ...token, repos: [name], token: 'lfsq_s', tenant: 'acme' } };
      if (path.includes('?')) return { status: 200, body: { repos: [repo], nextCursor: null } };
      if (path.endsWith('/game')) return { status: 200, body: repo };
      return { status: 404, body: { code: 'repo-not-found', title: 'Not found' } };
    });
    const { code, err } = await run('token', 'create', 'acme', '--scope', 'write', '--repo', name);
    expect(code).toBe(0);
    expect(err.split('any user name.\n')[1]).toBe(warning);
    const options = ['--issuer', rule.issuer, '--match', 'project_id=1', '--scope', 'read', '--repo', name];
    expect(await run('rule', 'create', 'acme', ...options)).toMatchObject({ code: 0, err: warning });
  });

  it('is not revoked by its secret, but the error has its id', async () => {
    const { asked, run } = await serve({ status: 204 });
    const { code, err } = await run('token', 'revoke', 'acme', 'lfsq_secret');
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(err).toContain(`That's a token's secret. Use its id: ${tokenIdOf('lfsq_secret')}`);
    expect(err).not.toContain('lfsq_secret');
  });

  it.each(['90', '1w', '-1d', 'd', '1.5h', ''])('is not created for %j', async (expires) => {
    const { asked, run } = await serve({ status: 500 });
    const result = await run('token', 'create', 'acme', '--scope', 'read', '--expires', expires);
    expect([result.code, asked]).toEqual([2, []]);
    expect(result.err).toMatch(/30m, 12h or 90d/);
  });

  it('lists whom tokens are for, when they were used, and which have expired', async () => {
    const tokens = [
      { ...token, user: 'ada', repos: ['game', 'film'], lastUsedAt: '2026-11-21T04:00:00Z' },
      { ...token, tokenId: 'k2', expiresAt: '2026-11-21T04:59:00Z' },
    ];
    const { run } = await serve({ status: 200, body: { tokens, nextCursor: null } });
    expect((await run('token', 'list', 'acme')).out.split('\n').slice(1, 3)).toEqual([
      'k1  write  ada   game, film  60 min ago  never    ci',
      'k2  write  -     all         never       expired  ci',
    ]);
  });

  it('lets no label control the terminal', async () => {
    const { run } = await serve({
      status: 200,
      body: { tokens: [{ ...token, label: 'a\u001b[2J\n' }], nextCursor: null },
    });
    expect((await run('token', 'list', 'acme')).out).toContain('a\ufffd[2J\ufffd\n');
  });

  it('revokes a token', async () => {
    const { asked, run } = await serve({ status: 204 });
    expect(await run('token', 'revoke', 'acme', 'k1')).toEqual({ code: 0, out: 'Revoked k1.\n', err: '' });
    expect(asked[0]).toMatchObject({ method: 'DELETE', path: '/v1/tenants/acme/tokens/k1' });
  });
});

describe('rule', () => {
  const rule = {
    ruleId: '5f0c1e2d3b4a5968',
    issuer: 'https://token.actions.githubusercontent.com',
    match: { repository_id: ['7'], ref: ['refs/heads/main', 'refs/tags/*'] },
    scope: 'write',
    repos: ['game'],
    ttlSeconds: 1800,
    createdAt: '2026-11-21T04:00:00Z',
    warning: null,
  };
  const shown =
    'id                scope  repos  valid   issuer                               jobs with\n' +
    '5f0c1e2d3b4a5968  write  game   30 min  token.actions.githubusercontent.com  repository_id=7 ref=refs/heads/main|refs/tags/*\n';

  it('is made of claims that may have several values', async () => {
    const { asked, run } = await serve({ status: 201, body: rule });
    const matches = ['repository_id=7', 'ref=refs/heads/main', 'ref=refs/tags/*'].flatMap((each) => [
      '--match',
      each,
    ]);
    const options = [
      '--issuer',
      rule.issuer,
      ...matches,
      '--scope',
      'write',
      '--repo',
      'game',
      '--expires',
      '30m',
    ];
    expect((await run('rule', 'create', 'acme', ...options)).out).toBe(shown);
    expect(asked[0]).toMatchObject({
      method: 'POST',
      path: '/v1/tenants/acme/exchange-rules',
      body: { issuer: rule.issuer, match: rule.match, scope: 'write', repos: ['game'], ttlSeconds: 1800 },
    });
  });

  it('is listed; without any, who could have one is told', async () => {
    const some = await serve({ status: 200, body: { rules: [rule], issuers: [rule.issuer] } });
    expect((await some.run('rule', 'list', 'acme')).out).toBe(shown);
    const older = { ...rule, warning: 'has a ref that any pull request could match' };
    const marked = await serve({ status: 200, body: { rules: [rule, older], issuers: [rule.issuer] } });
    expect((await marked.run('rule', 'list', 'acme')).out).toMatch(
      /\nReplace 5f0c1e2d3b4a5968: it has a ref that any pull request could match\.\n$/,
    );
    const none = await serve({ status: 200, body: { rules: [], issuers: [rule.issuer] } });
    expect((await none.run('rule', 'list', 'acme')).out).toMatch(/^No rules: .*githubusercontent/);
  });

  it('is deleted', async () => {
    const { asked, run } = await serve({ status: 204 });
    expect((await run('rule', 'delete', 'acme', rule.ruleId)).out).toBe(`Deleted ${rule.ruleId}.\n`);
    expect(asked[0]).toMatchObject({
      method: 'DELETE',
      path: `/v1/tenants/acme/exchange-rules/${rule.ruleId}`,
    });
  });
});

describe('reconcile', () => {
  it('asks for a recount', async () => {
    const { asked, run } = await serve({ status: 202, body: { tenant: 'acme', queued: true } });
    expect((await run('reconcile', 'acme')).out).toContain('queued');
    expect(asked[0]).toMatchObject({ method: 'POST', path: '/v1/tenants/acme/reconcile' });
  });
});

describe('--json', () => {
  const text =
    '{ "tenant":"acme",\n "plan":null, "limitBytes":null, "downloadLimitBytes":null,"reposMustExist":false, "createdAt":"2026-11-20T05:00:00Z", "usage":null, "new":1 }';
  const subscription =
    '{"tenant":"acme","plan":null,"limitBytes":1e3,"downloadLimitBytes":null,"reposMustExist":false,"usage":null,"forecast":{"fullOn":null,"reason":"unlimited","bytesPerDay":null},"lastRefusals":[],"repos":[],"refreshing":false}';
  const newToken =
    '{"tokenId":"a","token":"lfsq_","tenant":"acme","scope":"read","label":null,"user":null,"repos":null,"createdAt":"2026-11-20T05:00:00Z","expiresAt":null,"lastUsedAt":null}';

  it.each([
    [['tenant', 'create', 'acme'], text],
    [['tenant', 'show', 'acme'], text],
    [['tenant', 'limit', 'acme', '1GB', '--yes'], text],
    [['token', 'create', 'acme', '--scope', 'read'], newToken],
    [['usage', 'acme'], subscription],
    [['reconcile', 'acme'], '{"tenant":"acme", "queued":true}'],
  ])('%j prints the body as it is', async (args, body) => {
    const { asked, run } = await serve({ status: 200, body });
    const result = await run(...args, '--json');
    expect(result).toEqual({ code: 0, out: `${body}\n`, err: '' });
    expect(asked).toHaveLength(1);
  });

  it('of what the API answers without a body says what it was', async () => {
    const { run } = await serve({ status: 204 });
    expect((await run('token', 'revoke', 'acme', 'a', '--json')).out).toBe(
      '{"tenant":"acme","tokenId":"a"}\n',
    );
  });
});

describe('a list with --json', () => {
  const tenant = (name: string) => ({ ...acme, tenant: name, new: 1.5 });
  const pages: Record<string, object> = {
    '': { tenants: [tenant('a'), tenant('b')], nextCursor: 'c1', extra: [1] },
    c1: { tenants: [], nextCursor: 'c2', extra: [] },
    c2: { tenants: [tenant('c')], nextCursor: 'c3', extra: [2], more: 'x' },
    c3: { tenants: [], nextCursor: null, extra: [3], more: 'y' },
  };
  const answer = ({ path }: Asked) => ({
    status: 200,
    body: pages[/cursor=(\w+)/.exec(path)?.[1] ?? ''],
  });

  it('is one object with the items of all pages, and with fields that are new', async () => {
    const { asked, run } = await serve(answer);
    const { code, out } = await run('tenant', 'list', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      tenants: [tenant('a'), tenant('b'), tenant('c')],
      nextCursor: null,
      extra: [1, 2, 3],
      more: 'y',
    });
    expect(asked).toHaveLength(4);
  });

  it('of nothing is an object too', async () => {
    const { run } = await serve({ status: 200, body: { tenants: [], nextCursor: null } });
    expect((await run('tenant', 'list', '--json')).out).toBe('{"tenants":[],"nextCursor":null}\n');
  });

  it.each([
    [['--limit', '2'], ['/v1/tenants?limit=2'], ['a', 'b'], 'c1'],
    [
      ['--limit', '3'],
      ['/v1/tenants?limit=3', '/v1/tenants?cursor=c1&limit=1', '/v1/tenants?cursor=c2&limit=1'],
      ['a', 'b', 'c'],
      'c3',
    ],
    [['--limit', '2', '--page-size', '5'], ['/v1/tenants?limit=2'], ['a', 'b'], 'c1'],
    [['--limit', '1', '--cursor', 'c2'], ['/v1/tenants?cursor=c2&limit=1'], ['c'], 'c3'],
    [['--limit', '5000', '--cursor', 'c3'], ['/v1/tenants?cursor=c3&limit=1000'], [], null],
  ])('has as many as %j says, and where to go on', async (args, paths, names, nextCursor) => {
    const { asked, run } = await serve(answer);
    const { out } = await run('tenant', 'list', '--json', ...args);
    const page = JSON.parse(out);
    expect(page.tenants.map((each: { tenant: string }) => each.tenant)).toEqual(names);
    expect(page.nextCursor).toBe(nextCursor);
    expect(asked.map(({ path }) => path)).toEqual(paths);
  });

  it.each(['0', '-1', '1.5', 'x', '9999999999999999'])('takes no --limit %s', async (limit) => {
    expect((await cli(['tenant', 'list', '--limit', limit], { env: { LFS_QUOTA_TOKEN: 'x' } })).code).toBe(2);
  });
});
