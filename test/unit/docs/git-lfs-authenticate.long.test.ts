import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeWithJq } from '../../support/describe-with.ts';

const script = path.resolve('docs/git-lfs-authenticate.sh');

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'lfs-quota-ssh-'));
  writeFileSync(path.join(folder, 'config'), 'url=https://lfs.example.com\ntoken=lfsq_manage\n');
  // Writes down what it is asked for, and answers with a token.
  const curl = `#!/bin/sh\nprintf '%s\\n' "$@" >${folder}/asked\ncat >>${folder}/asked\necho '{"token":"lfsq_made"}'\n`;
  writeFileSync(path.join(folder, 'curl'), curl, { mode: 0o700 });
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(asked: string, operation = 'upload') {
  const { status, stdout, stderr } = spawnSync('sh', [script, asked, operation], {
    encoding: 'utf8',
    env: {
      PATH: `${folder}:${process.env['PATH']}`,
      LFS_QUOTA_CONFIG: path.join(folder, 'config'),
      USER_NAME: 'ada',
    },
  });
  const file = path.join(folder, 'asked');
  return { status, stdout, stderr, sent: existsSync(file) ? readFileSync(file, 'utf8') : undefined };
}

describeWithJq('git-lfs-authenticate.sh', () => {
  it.each(['acme/game', '/acme/game.git', 'acme/game.git'])('gives a token for the repo of %s', (asked) => {
    const { status, stdout, stderr, sent } = run(asked);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      href: 'https://lfs.example.com/acme/game.git/info/lfs',
      header: { Authorization: 'Bearer lfsq_made' },
      expires_in: 1800,
    });
    expect(sent).toContain('https://lfs.example.com/v1/tenants/acme/tokens\n');
    expect(sent).toMatch(/"scope": ?"write"/);
    expect(sent).toMatch(/"repos": ?\[\s*"game"\s*\]/);
  });

  it.each([
    // The host checked another repository than the token would be for.
    'acme/mallory/game.git',
    'acme/forks/mallory/game',
    'acme/x/../game',
    'acme//game',
    '//acme/game',
    'acme/game/',
    'acme/..',
    '../game',
    'acme/game.git.git',
    'acme/game.GIT',
    // No such tenant, or another route.
    'game',
    'acme',
    '/game',
    '',
    'acme?x=/game',
    'acme#/game',
    'Acme/game',
    'acme%2f..%2fbeta/game',
    'acme/ga me',
    'acme/game?x',
    'ac\nme/game',
    '{acme,beta}/game',
  ])('gives none for %j, and asks for none', (asked) => {
    const { status, stdout, stderr, sent } = run(asked);
    expect({ status, stdout, sent }).toEqual({ status: 1, stdout: '', sent: undefined });
    expect(stderr).toContain('the path is TENANT/REPO');
  });

  it('knows two operations', () => {
    expect(run('acme/game', 'download').sent).toMatch(/"scope": ?"read"/);
    rmSync(path.join(folder, 'asked'));
    expect(run('acme/game', 'delete')).toMatchObject({ status: 1, sent: undefined });
  });
});
