import { describe, expect, it } from 'vitest';
import { cliOnBody } from './harness.ts';

const repo = {
  repo: 'game',
  limitBytes: null,
  storedBytes: 10,
  objectCount: 1,
  countedAt: '2026-11-21T04:58:00Z',
};
const gitHost = { host: 'github', repo: 'acme/game', repoId: null, since: '2026-11-21T04:00:00Z' };

const run = (body: object, ...args: string[]) => cliOnBody(body, 'repo', ...args);

describe('repo', () => {
  it('host maps it, and says who can come', async () => {
    const { out, asked } = await run({ ...repo, gitHost }, 'host', 'acme', 'game', 'github', 'acme/game');
    expect(asked).toMatchObject([
      {
        method: 'PATCH',
        path: '/v1/tenants/acme/repos/game',
        body: { gitHost: { host: 'github', repo: 'acme/game' } },
      },
    ]);
    expect(out).toBe(
      'acme/game is mapped to acme/game on github: who may pull there can pull here with their own token for it, and ' +
        'who may push, push.\n',
    );
  });

  it('host takes the number of the repository', async () => {
    const { out, asked } = await run(
      { ...repo, gitHost: { ...gitHost, repoId: '77' } },
      ...['host', 'acme', 'game', 'github', 'acme/game', '--repo-id', '77'],
    );
    expect(asked).toMatchObject([{ body: { gitHost: { host: 'github', repo: 'acme/game', repoId: '77' } } }]);
    expect(out).toContain('acme/game (number 77) on github');
  });

  it('unhost ends that', async () => {
    const { out, asked } = await run(repo, 'unhost', 'acme', 'game');
    expect(asked).toMatchObject([{ method: 'PATCH', body: { gitHost: null } }]);
    expect(out).toBe('acme/game is mapped to no git host. Only tokens of the tenant are good for it.\n');
  });

  it('host prints the answer with --json, and needs all names', async () => {
    const { out } = await run({ ...repo, gitHost }, 'host', 'acme', 'game', 'github', 'acme/game', '--json');
    expect(JSON.parse(out)).toEqual({ ...repo, gitHost });
    const { code, asked } = await run({}, 'host', 'acme', 'game', 'github');
    expect([code, asked]).toEqual([2, []]);
  });

  it('list shows what is mapped, if anything is', async () => {
    const other = { ...repo, repo: 'film' };
    const { out } = await run({ repos: [{ ...repo, gitHost }, other], nextCursor: null }, 'list', 'acme');
    expect(out).toMatch(/git host\n/);
    expect(out).toMatch(/game .* github acme\/game\n/);
    expect(out).toMatch(/film .* -\n/);
    expect((await run({ repos: [other], nextCursor: null }, 'list', 'acme')).out).not.toContain('git host');
  });
});
