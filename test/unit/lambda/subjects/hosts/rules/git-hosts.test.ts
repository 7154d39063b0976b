import { describe, expect, it } from 'vitest';
import { gitHostIdPattern } from '../../../../../../lambda/frame/access/rules/host-user.ts';
import { isInForce } from '../../../../../../lambda/frame/access/rules/repo-mark.ts';
import {
  type GitHostKind,
  gitHostsFromJson,
  gitHostsToJson,
  isGitHostUrl,
  isLinkedName,
} from '../../../../../../lambda/subjects/hosts/rules/git-hosts.ts';

describe('the address of a git host', () => {
  it.each([
    ['a host', 'https://gitlab.com'],
    ['a host with a port, or an address', 'https://git.example.com:8443/forge https://127.0.0.1:3000'],
    ['a path', 'https://api.github.com https://github.example.com/api/v3'],
  ])('may have %s: %s', (_what, urls) => {
    for (const url of urls.split(' ')) expect([url, isGitHostUrl(url)]).toEqual([url, true]);
  });

  it.each([
    ['another scheme', 'http://gitlab.com ftp://gitlab.com gitlab.com http://127.0.0.1:3000'],
    ['a slash at its end', 'https://gitlab.com/'],
    ['an odd path', 'https://gitlab.com/a//b https://gitlab.com/../b https://gitlab.com/.b'],
    [
      'a query or a fragment',
      'https://gitlab.com?x https://gitlab.com#x https://gitlab.com?x=https://gitlab.com',
    ],
    ['a user', 'https://me@gitlab.com https://me:pw@gitlab.com https://me@gitlab.com/https://gitlab.com'],
    ['no host', 'https:// https://['],
  ])('may not have %s: %s', (_what, urls) => {
    for (const url of urls.split(' ')) expect([url, isGitHostUrl(url)]).toEqual([url, false]);
  });

  it('may be of 200 characters, and of no more', () => {
    expect(isGitHostUrl(`https://${'x'.repeat(192)}`)).toBe(true);
    expect(isGitHostUrl(`https://${'x'.repeat(193)}`)).toBe(false);
    expect(isGitHostUrl('https://git lab.com')).toBe(false);
  });

  it('may be of this machine without TLS, where that is allowed, and of no other', () => {
    const allowed = [
      'http://127.0.0.1:3000',
      'http://localhost:3000/git',
      'http://[::1]:3000',
      'https://gitlab.com',
    ];
    const others = ['http://127.0.0.1.example.com', 'http://10.0.0.1', 'http://localhost.example.com'];
    const taken = [...allowed, ...others, 'ftp://127.0.0.1'].filter((url) =>
      isGitHostUrl(url, { allowsLoopback: true }),
    );
    expect(taken).toEqual(allowed);
  });
});

it('the id of a git host is one to twenty lower-case letters, digits and hyphens between them', () => {
  const ids = ['a', '7', 'github', 'git-hub-2', 'x'.repeat(20)];
  const others = ['', '-a', 'a-', 'GitHub', 'git_hub', 'git hub', 'github:1', 'x'.repeat(21), 'a\n'];
  expect([...ids, ...others].filter((id) => gitHostIdPattern.test(id))).toEqual(ids);
});

describe('the name of a repository of a host', () => {
  const long = (last: number) => `${'x'.repeat(100)}/${'x'.repeat(100)}/${'x'.repeat(last)}`;

  it.each<[GitHostKind, string[]]>([
    ['github', ['acme/game', 'acme_corp/.github']],
    ['gitea', ['A-1/a..b', 'acme/game..']],
    ['gitlab', ['a/b', 'group/sub.group/game_2', `${'g/'.repeat(21)}game`, long(53)]],
  ])('may on %s be %j', (kind, names) => {
    for (const name of names) expect([name, isLinkedName(name, kind)]).toEqual([name, true]);
  });

  it.each<[string, GitHostKind, string[]]>([
    ['too few or too many segments', 'github', ['', 'game', 'acme/sub/game']],
    ['more than two segments', 'gitea', ['acme/sub/game']],
    ['more than 22 segments', 'gitlab', [`${'g/'.repeat(22)}game`]],
    ['an empty segment', 'gitlab', ['acme//game', 'acme/', '/game']],
    ['a segment of dots', 'gitea', ['acme/.', 'acme/..', 'acme/...', '../game']],
    ['a way up', 'gitlab', ['acme/../../user']],
    ['.git', 'github', ['acme/game.git']],
    ['other characters', 'github', ['acme/game?x=1', 'acme/game#x', 'acme/ga me', 'acme/g%2e', 'acme\\game']],
    ['letters of others, or a line break', 'github', ['acme/gäme', 'acme/game\n']],
    ['a segment of more than 100 characters', 'github', [`acme/${'x'.repeat(101)}`]],
    ['more than 255 characters', 'gitlab', [long(54)]],
  ])('may not have %s on %s: %j', (_what, kind, names) => {
    for (const name of names) expect([name, isLinkedName(name, kind)]).toEqual([name, false]);
  });
});

const github = { id: 'github', kind: 'github', url: 'https://api.github.com' } as const;
const forge = { id: 'forge', kind: 'gitea', url: 'http://127.0.0.1:3000' } as const;

describe('the git hosts of a stage', () => {
  it('go through the environment, and are left out if there are none', () => {
    const text = gitHostsToJson([github, forge]);
    expect(gitHostsFromJson(text)).toEqual([github, forge]);
    expect(gitHostsToJson([])).toBeUndefined();
    expect(gitHostsFromJson(undefined)).toEqual([]);
  });

  it.each<unknown>([
    'x',
    {},
    [null],
    ['github'],
    [{ ...github, id: 7 }],
    [{ ...github, id: 'Git Hub' }],
    [{ ...github, kind: 'bitbucket' }],
    [{ ...github, url: undefined }],
    [{ ...github, url: 'http://example.com' }],
    [github, { id: 'x' }],
  ])('must be right, or no function starts: %j', (value) => {
    expect(() => gitHostsFromJson(JSON.stringify(value))).toThrow(/Deploy again/);
  });

  it('are at most eight of the longest in an environment of 4 KB', () => {
    const longest = { id: 'x'.repeat(20), kind: 'github', url: `https://${'x'.repeat(192)}` } as const;
    expect(gitHostsToJson(Array.from({ length: 8 }, () => longest))?.length).toBeLessThan(2200);
  });
});

const mark = { sinceMs: 100 };

describe('a mark', () => {
  it('is in force while its repo is open, whether or not it was counted', () => {
    expect(isInForce(mark, undefined)).toBe(true);
    expect(isInForce(mark, { closedAtMs: null })).toBe(true);
    expect(isInForce(mark, { closedAtMs: 99 })).toBe(false);
    expect(isInForce(mark, { closedAtMs: 200 })).toBe(false);
  });

  it('is not once its repo was deleted after that, whatever is still written down', () => {
    expect(isInForce(mark, { closedAtMs: null, endedClosingMs: 99 })).toBe(true);
    expect(isInForce(mark, { closedAtMs: null, endedClosingMs: 100 })).toBe(false);
    expect(isInForce(mark, { closedAtMs: null, endedClosingMs: 101 })).toBe(false);
  });
});
