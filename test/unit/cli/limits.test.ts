import { afterEach, describe, expect, it } from 'vitest';
import { type Asked, cli, startServer, type TestServer } from './harness.ts';

const mib = 1024 ** 2;
const usage = {
  storedBytes: 5 * mib,
  objectCount: 3,
  reservedBytes: 0,
  reservedUntil: null,
  committedBytes: 5 * mib,
  countedAt: '2026-11-21T04:59:48Z',
  source: 'cache',
};
const acme = {
  tenant: 'acme',
  plan: null,
  limitBytes: null,
  downloadLimitBytes: null,
  reposMustExist: false,
  createdAt: '2026-11-20T05:00:00Z',
  usage,
};
const month = { month: '2026-11', bytes: 3 * mib, objects: 4, resetsAt: '2026-12-01T00:00:00Z' };
const game = {
  repo: 'game',
  limitBytes: null,
  storedBytes: 4 * mib,
  objectCount: 2,
  countedAt: usage.countedAt,
  publicRead: { monthlyLimitBytes: null, since: acme.createdAt, month },
};

function answer({ path }: Asked) {
  if (path.includes('/downloads'))
    return { status: 200, body: { month: { ...month, limitBytes: null }, downloads: [], nextCursor: null } };
  return { status: 200, body: path.includes('/repos/') ? game : acme };
}

let server: TestServer | undefined;

async function run(args: readonly string[], reply?: string) {
  server = await startServer(answer);
  const questions: string[] = [];
  const result = await cli(args, {
    env: { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' },
    ...(reply !== undefined && {
      ask: async (question: string) => {
        questions.push(question);
        return reply;
      },
    }),
  });
  const changes = server.asked.filter(({ method }) => method === 'PATCH').length;
  return { ...result, questions, asked: server.asked, changes };
}

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const limits = [
  {
    args: ['tenant', 'limit', 'acme', '2MiB'],
    said: 'acme stores 5 MiB, more than the new limit of 2 MiB. Uploads fail until you delete 3 MiB.',
  },
  {
    args: ['tenant', 'download-limit', 'acme', '2MiB'],
    said: 'acme used 3 MiB of downloads this month, more than the new limit of 2 MiB. Downloads fail until next month.',
  },
  {
    args: ['repo', 'limit', 'acme', 'game', '1MiB'],
    said: 'acme/game stores 4 MiB, more than the new limit of 1 MiB. Uploads fail until you delete 3 MiB.',
  },
  {
    args: ['repo', 'public', 'acme', 'game', '--limit', '1MiB'],
    said: 'acme/game used 3 MiB of public downloads this month, more than the new limit of 1 MiB. Public downloads fail until next month.',
  },
] as const;

describe.each(limits)('a limit below current usage: $args', ({ args, said }) => {
  it('asks first, and changes nothing without a yes', async () => {
    const { code, err, questions, changes } = await run(args, 'n');
    expect(questions).toEqual([`${said} Continue? [y/N] `]);
    expect({ code, changes }).toEqual({ code: 1, changes: 0 });
    expect(err).toContain('Nothing changed.');
  });

  it('is set after a yes', async () => {
    expect(await run(args, 'y')).toMatchObject({ code: 0, changes: 1 });
  });

  it('is set without a question by --yes', async () => {
    expect(await run([...args, '--yes'])).toMatchObject({ code: 0, changes: 1 });
    expect(server?.asked).toHaveLength(1);
  });

  it('needs --yes where it cannot ask', async () => {
    const { code, err, changes } = await run(args);
    expect({ code, changes }).toEqual({ code: 2, changes: 0 });
    expect(err).toContain(`${said} To continue, pass --yes.`);
  });
});

describe('a limit', () => {
  it.each([...limits.map(({ args }) => args), ['tenant', 'create', 'acme', '--limit', '2MiB']])(
    'without a unit is an error: %s %s',
    async (...args) => {
      const { code, err, asked } = await run(args.map((arg = '') => arg.replace('MiB', '')));
      expect({ code, asked }).toEqual({ code: 2, asked: [] });
      expect(err).toMatch(/"[12]" has no unit\. Did you mean [12]GiB\?/);
    },
  );

  it.each(['6MiB', 'unlimited'])('of %s, above what is stored, needs no question', async (size) => {
    expect(await run(['tenant', 'limit', 'acme', size])).toMatchObject({ code: 0, changes: 1 });
  });
});
