import { afterEach, describe, expect, it } from 'vitest';
import { painter } from '../../../cli/terminal.ts';
import { cli, startServer, type TestServer } from './harness.ts';

describe('colours', () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ TERM: 'dumb' }, true, false],
    [{ TERM: 'xterm-256color' }, true, true],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ FORCE_COLOR: 'false' }, true, false],
    [{ FORCE_COLOR: '' }, false, false],
    [{ FORCE_COLOR: '1', TERM: 'dumb' }, false, true],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, true, false],
  ])('%j, on a terminal: %s: %s', (env, isTerminal, isPainted) => {
    expect(painter(env, isTerminal)('red', 'x')).toBe(isPainted ? '\u001b[31mx\u001b[39m' : 'x');
  });
});

describe('a command', () => {
  let server: TestServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const tenant = (name: string, storedBytes: number, limitBytes: number | null = 100) => ({
    tenant: name,
    plan: null,
    limitBytes,
    downloadLimitBytes: null,
    reposMustExist: false,
    createdAt: '2026-11-20T05:00:00Z',
    usage: {
      storedBytes,
      objectCount: 1,
      reservedBytes: 0,
      reservedUntil: null,
      committedBytes: storedBytes,
      scannedAt: '2026-11-21T04:59:48Z',
      source: 'cache',
    },
  });

  async function list(options: { isTerminal?: boolean } = {}) {
    const tenants = [
      tenant('a', 89),
      tenant('b', 90),
      tenant('c', 100),
      tenant('d', 1, null),
      tenant('e', 120),
      tenant('f', 5, 0),
      tenant('g', 7, null),
    ];
    server = await startServer(() => ({ status: 200, body: { tenants, nextCursor: null } }));
    return cli(['tenant', 'list', '--url', server.url, '--token', 'x'], { columns: 80, ...options });
  }

  it('shows who is nearly full: the fullest first, and in colour on a terminal', async () => {
    const { out } = await list({ isTerminal: true });
    const [heading = '', ...lines] = out.replaceAll('\u001b', '~').split('\n');
    expect(heading).toMatch(/^~\[1mtenant .*~\[22m$/);
    expect(lines.map((line) => line.slice(0, 1)).join('')).toBe('fecbagd');
    const colours = lines.map((line) => /~\[(3\d)m *(.*?)~/.exec(line)?.slice(1, 3));
    expect(colours.slice(0, 7)).toEqual([
      ['31', 'over 100%'],
      ['31', '120.0%'],
      ['31', '100%'],
      ['33', '90.0%'],
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('has none without one', async () => {
    expect((await list()).out).not.toContain('\u001b');
  });

  it('marks an error', async () => {
    expect((await cli(['tenant', 'list'], { errIsTerminal: true })).err).toContain(
      '\u001b[31merror:\u001b[39m No token',
    );
    expect((await cli(['tenant', 'list'])).err).toMatch(/^error: No token/);
  });
});
