import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from './harness.ts';

/** The command line in a real terminal, which `script` makes. */

const root = fileURLToPath(new URL('../../..', import.meta.url));
const hasScript = spawnSync('script', ['-qec', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0;
const timeoutMs = 60_000;

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** @param answerAfterMs how long the API takes. */
async function inTerminal(command: string, answerAfterMs: number) {
  const body = { tenants: [], nextCursor: null };
  server = await startServer(() => ({ status: 200, body, afterMs: answerAfterMs }));
  const line = `trap : INT; stty cols 60; ${process.execPath} bin/lfs-quota.js ${command}; echo "ended with $?"`;
  const child = spawn('script', ['-qc', line, '/dev/null'], {
    cwd: root,
    env: { PATH: process.env['PATH'], TERM: 'xterm', LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'x' },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let seen = '';
  const ended = new Promise<string>((resolve) => child.once('close', () => resolve(seen)));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    seen += text;
  });
  return { child, ended, seen: () => seen };
}

describe.skipIf(!hasScript)('in a terminal', { timeout: timeoutMs }, () => {
  it('a command that takes over a second says so, and takes the line away', async () => {
    const { ended } = await inTerminal('tenant list', 3500);
    const seen = (await ended).replaceAll('\u001b', '~');
    expect(seen).toMatch(/\r~\[Klisting, at http:\/\/127\.0\.0\.1:\d+ \(\d s\)\r/);
    expect(seen).toContain('\r~[KNo tenants yet.');
    expect(seen).toContain('ended with 0');
  });

  it('Ctrl-C takes the line away too, and ends the command as the signal does', async () => {
    const { child, ended, seen } = await inTerminal('tenant list', 30_000);
    const timer = setInterval(() => {
      if (!/\(\d+ s\)/.test(seen())) return;
      clearInterval(timer);
      // What a person types reaches the terminal, which makes the signal of it.
      child.stdin.write('\u0003');
    }, 100);
    const all = (await ended).replaceAll('\u001b', '~');
    clearInterval(timer);
    expect(all).toMatch(/\(\d+ s\)(\^C)?\r~\[K(\^C)?ended with 130\r\n$/);
  });
});
