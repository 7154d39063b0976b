import { describe, expect, it } from 'vitest';
import { gitHostIdPattern, isGitHostUrl, isHostedName } from '../../../../lambda/domain/git-host.ts';

describe('the address of a git host', () => {
  it.each([
    'https://api.github.com',
    'https://github.example.com/api/v3',
    'https://gitlab.com',
    'https://git.example.com:8443/forge',
    'https://127.0.0.1:3000',
  ])('may be %s', (url) => {
    expect(isGitHostUrl(url)).toBe(true);
  });

  it.each([
    'http://gitlab.com',
    'https://gitlab.com/',
    'https://gitlab.com/a//b',
    'https://gitlab.com/../b',
    'https://gitlab.com/.b',
    'https://gitlab.com?x',
    'https://gitlab.com#x',
    'https://gitlab.com?x=https://gitlab.com',
    'https://me@gitlab.com/https://gitlab.com',
    'https://me@gitlab.com',
    'https://me:pw@gitlab.com',
    'https://git lab.com',
    'https://',
    'https://[',
    'ftp://gitlab.com',
    'gitlab.com',
    'http://127.0.0.1:3000',
    `https://${'x'.repeat(193)}`,
  ])('may not be %s', (url) => {
    expect(isGitHostUrl(url)).toBe(false);
  });

  it('may be of 200 characters, and of no more', () => {
    expect(isGitHostUrl(`https://${'x'.repeat(192)}`)).toBe(true);
    expect(isGitHostUrl(`https://${'x'.repeat(193)}`)).toBe(false);
  });

  it.each(['http://127.0.0.1:3000', 'http://localhost:3000/git', 'http://[::1]:3000', 'https://gitlab.com'])(
    'may be %s where this machine may be reached without TLS',
    (url) => {
      expect(isGitHostUrl(url, { allowsLoopback: true })).toBe(true);
    },
  );

  it.each([
    'http://127.0.0.1.example.com',
    'http://10.0.0.1',
    'http://localhost.example.com',
    'ftp://127.0.0.1',
  ])('may not be %s there', (url) => {
    expect(isGitHostUrl(url, { allowsLoopback: true })).toBe(false);
  });
});

describe('the id of a git host', () => {
  it.each(['a', '7', 'github', 'git-hub-2', 'x'.repeat(20)])('may be %s', (id) => {
    expect(gitHostIdPattern.test(id)).toBe(true);
  });

  it.each(['', '-a', 'a-', 'GitHub', 'git_hub', 'git hub', 'github:1', 'x'.repeat(21), 'a\n'])(
    'may not be %j',
    (id) => {
      expect(gitHostIdPattern.test(id)).toBe(false);
    },
  );
});

describe('the name of a repository of a host', () => {
  it.each([
    ['acme/game', 'github'],
    ['acme_corp/.github', 'github'],
    ['A-1/a..b', 'gitea'],
    ['acme/game..', 'gitea'],
    ['a/b', 'gitlab'],
    ['group/sub.group/game_2', 'gitlab'],
    [`${'g/'.repeat(21)}game`, 'gitlab'],
  ] as const)('may be %s on %s', (name, kind) => {
    expect(isHostedName(name, kind)).toBe(true);
  });

  it.each([
    ['game', 'github'],
    ['acme/sub/game', 'github'],
    ['acme/sub/game', 'gitea'],
    [`${'g/'.repeat(22)}game`, 'gitlab'],
    ['acme/..', 'github'],
    ['../game', 'github'],
    ['acme/.', 'gitea'],
    ['acme/...', 'gitea'],
    ['acme/../../user', 'gitlab'],
    ['acme/', 'github'],
    ['/game', 'github'],
    ['acme//game', 'gitlab'],
    ['acme/game.git', 'github'],
    ['acme/game?x=1', 'github'],
    ['acme/game#x', 'github'],
    ['acme/ga me', 'github'],
    ['acme/g%2e', 'github'],
    ['acme\\game', 'github'],
    ['acme/gäme', 'github'],
    ['acme/game\n', 'github'],
    [`acme/${'x'.repeat(101)}`, 'github'],
    [`${'x'.repeat(100)}/${'x'.repeat(100)}/${'x'.repeat(54)}`, 'gitlab'],
    ['', 'github'],
  ] as const)('may not be %j on %s', (name, kind) => {
    expect(isHostedName(name, kind)).toBe(false);
  });

  it('may have 255 characters', () => {
    expect(isHostedName(`${'x'.repeat(100)}/${'x'.repeat(100)}/${'x'.repeat(53)}`, 'gitlab')).toBe(true);
  });
});
