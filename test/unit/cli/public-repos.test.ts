import { describe, expect, it } from 'vitest';
import { cliOnBody } from './harness.ts';

const repo = {
  repo: 'game',
  limitBytes: null,
  storedBytes: 10,
  objectCount: 1,
  countedAt: '2026-11-21T04:58:00Z',
};
const month = { month: '2026-11', bytes: 0, objects: 0, resetsAt: '2026-12-01T00:00:00Z' };
const publicRead = { monthlyLimitBytes: 100 * 1024 ** 3, since: '2026-11-21T04:00:00Z', month };

const run = (body: object, ...args: string[]) => cliOnBody(body, 'repo', ...args);

describe('repo', () => {
  it('public lets anybody download up to a ceiling, and says how much was', async () => {
    const offered = { ...publicRead, month: { ...month, bytes: 1536 } };
    const { out, asked } = await run(
      { ...repo, publicRead: offered },
      ...['public', 'acme', 'game', '--limit', '100GiB', '--yes'],
    );
    expect(asked).toMatchObject([
      {
        method: 'PATCH',
        path: '/v1/tenants/acme/repos/game',
        body: { publicRead: { monthlyLimitBytes: 100 * 1024 ** 3 } },
      },
    ]);
    expect(out).toBe(
      'acme/game is public: anybody can download from it, up to 100 GiB a month. In 2026-11 so far: 1.5 KiB.\n',
    );
  });

  it('public needs a ceiling, or to be told that there is none', async () => {
    const { code, err, asked } = await run({}, 'public', 'acme', 'game');
    expect([code, asked]).toEqual([2, []]);
    expect(err).toContain('--limit');
    const unlimited = await run(
      { ...repo, publicRead: { ...publicRead, monthlyLimitBytes: null } },
      ...['public', 'acme', 'game', '--limit', 'unlimited'],
    );
    expect(unlimited.asked).toMatchObject([{ body: { publicRead: { monthlyLimitBytes: null } } }]);
    expect(unlimited.out).toBe('acme/game is public: anybody can download from it, without a limit.\n');
  });

  it('private ends that, and says what does not end', async () => {
    const { out, asked } = await run(repo, 'private', 'acme', 'game');
    expect(asked).toMatchObject([{ method: 'PATCH', body: { publicRead: null } }]);
    expect(out).toMatch(
      /^acme\/game is private\. URLs that were given out before stay valid for up to 30 minutes\./,
    );
    expect(JSON.parse((await run(repo, 'private', 'acme', 'game', '--json')).out)).toEqual(repo);
  });

  it('list has a column for what is public, if anything is', async () => {
    const other = { ...repo, repo: 'film', storedBytes: 5 };
    const free = {
      ...repo,
      repo: 'art',
      storedBytes: 1,
      publicRead: { ...publicRead, monthlyLimitBytes: null },
    };
    const listed = await run(
      { repos: [{ ...repo, publicRead }, other, free], nextCursor: null },
      'list',
      'acme',
    );
    expect(listed.out.split('\n')).toEqual([
      expect.stringMatching(/^repo {2}stored {2}objects {2}counted +public$/),
      expect.stringMatching(/^game +10 B +1 .* 100 GiB a month$/),
      expect.stringMatching(/^film +5 B +1 .* -$/),
      expect.stringMatching(/^art +1 B +1 .* unlimited$/),
      '',
    ]);
    expect((await run({ repos: [other], nextCursor: null }, 'list', 'acme')).out).not.toContain('public');
  });
});
