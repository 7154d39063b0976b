import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { cli } from '../harness.ts';

const folderFor = useTempFolders();
const pointer = (digit: string, size: number) =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${digit.repeat(64)}\nsize ${size}\n`;

describe('du --git --cost', () => {
  let home: string;
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: home,
      env: { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const commit = (name: string, text: string) => {
    writeFileSync(path.join(home, name), text);
    git('add', '.');
    git('commit', '-qm', 'More');
  };
  /** Without a server, a login and an lfs.url. */
  const cost = (...args: string[]) => cli(['du', '--git', '--clone', home, '--cost', ...args]);

  beforeEach(() => {
    home = folderFor();
    git('init', '-q', '-b', 'main', '.');
  });

  it('counts each version of all branches once', async () => {
    commit('a.psd', pointer('a', 6e9));
    commit('a.psd', pointer('b', 8e9));
    commit('copy.psd', pointer('a', 6e9));
    git('checkout', '-qb', 'other');
    commit('c.psd', pointer('c', 10e9));
    git('checkout', '-q', 'main');
    const { code, out } = await cost('--json');
    expect(code).toBe(0);
    const { months, ...team } = JSON.parse(out);
    expect(team).toEqual({ storedBytes: 24e9, objects: 3, downloadsGb: 72, users: 5 });
    expect(months).toHaveLength(8);
    expect(months[1]).toEqual({
      place: 'GitLab.com',
      plan: 'Free',
      dollars: 10,
      prices: '2026-09-20',
    });
    const { out: text } = await cost('--users', '6', '--downloads-gb', '0');
    expect(text).toMatch(
      /^22\.35 GiB in 3 objects, all versions\. 0 GB of downloads a month \(given\), 6 users \(given\)\./,
    );
    expect((await cost('--downloads-gb', '200')).out).toContain(
      '200 GB of downloads a month (given), 5 users (assumed, change it with --users).',
    );
    expect((await cost()).out).toContain(
      '72 GB of downloads a month (assumed, change it with --downloads-gb)',
    );
    expect(text).toContain('$174.00  GitLab.com');
    expect(text).toContain('2025-12-01, unconfirmed');
  });

  it('says where a repo fits in no plan', async () => {
    commit('a.psd', pointer('a', 600e9));
    expect((await cost()).out).toMatch(/^too large +GitLab\.com/m);
    expect(JSON.parse((await cost('--json')).out).months[1]).toMatchObject({ plan: null, dollars: null });
  });

  it('has nothing to say of a history without LFS files', async () => {
    commit('readme', 'hello');
    const { code, err } = await cost();
    expect(code).toBe(1);
    expect(err).toContain('This clone has no commits with LFS files.');
  });

  it.each([
    [['du', '--git', '--users', '3'], '--users needs --cost.'],
    [['du', '--git', '--cost', '--depth', '3'], "--depth doesn't work with --cost."],
    [['du', '--git', '--cost', '--url', 'http://x'], "--url doesn't work with --cost."],
    [['du', 's3://bucket', '--downloads-gb', '3'], '--downloads-gb needs --git.'],
    [['du', '--git', '--cost', '--users', '0'], 'Use a whole number from 1'],
    [['du', '--git', '--cost', '--downloads-gb', '-1'], 'Use a number up to 1,000,000, such as 0.5.'],
    [['du', '--git', '--cost', '--downloads-gb', '2000000'], 'Use a number up to 1,000,000, such as 0.5.'],
    [['du', '--git', '--cost', '--users', '3', '--users', '4'], 'You passed --users twice. Remove one.'],
    [['du', 's3://bucket', '--save-every', '0'], 'Use a number above 0, up to 1,000,000, such as 0.5.'],
  ])('%j is refused', async (args, message) => {
    const { code, err } = await cli(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
