import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { plainEnvironment } from '../../support/process.ts';

const script = join(import.meta.dirname, '../../../bin/lfs-quota.js');
const url = 'http://127.0.0.1:8787';

/** As git starts its helper. */
function store(config: string, username: string): Promise<{ code: number | null; err: string }> {
  const child = spawn(process.execPath, [script, 'auth', 'git-credential', 'store'], {
    env: { ...plainEnvironment(), LFS_QUOTA_CONFIG: config },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  child.stdin.end(
    `protocol=http\nhost=127.0.0.1:8787\nusername=${username}\npassword=secret-of-${username}\n\n`,
  );
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, err }));
  });
}

it('git processes that store credentials at once lose none, and leave nothing but the file', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'lfs-quota credentials-')), 'config');
  const config = join(folder, 'credentials.json');
  mkdirSync(folder);
  const logins = { [url]: { token: `lfsq_${'t'.repeat(40)}`, tenant: 'acme' } };
  writeFileSync(config, JSON.stringify({ logins }), { mode: 0o600 });
  const usernames = Array.from({ length: 12 }, (_, index) => `user-${index}`);

  const ended = await Promise.all(usernames.map((username) => store(config, username)));

  expect(ended).toEqual(usernames.map(() => ({ code: 0, err: '' })));
  const git = { [url]: Object.fromEntries(usernames.map((name) => [name, `secret-of-${name}`])) };
  expect(JSON.parse(readFileSync(config, 'utf8'))).toEqual({ logins, git });
  expect(readdirSync(folder)).toEqual(['credentials.json']);
  rmSync(join(folder, '..'), { recursive: true });
});
