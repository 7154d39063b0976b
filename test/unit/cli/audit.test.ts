import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, cli, startServer, type TestServer } from './harness.ts';

const entry = {
  time: '2026-11-21T05:00:00.123Z',
  requestId: 'r1',
  by: { kind: 'operator', tokenId: null, name: null },
  action: 'tenant.update',
  target: {},
  asked: { limitBytes: 20, plan: 'team' },
  outcome: 'done',
  reason: null,
  before: { limitBytes: 10, plan: null },
  after: { limitBytes: 20, plan: 'team' },
};
const ada = { kind: 'token', tokenId: '5f0c1e2d3b4a5968', name: 'ada' };

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function audit(entries: readonly object[], ...args: string[]) {
  const answer: Answer = { status: 200, body: { entries, nextCursor: null } };
  server = await startServer(() => answer);
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
  const result = await cli(['audit', 'acme', ...args], { env });
  return { ...result, lines: result.out.split('\n'), asked: server.asked.map(({ path }) => path) };
}

describe('audit', () => {
  it('has a line for each action, with what changed', async () => {
    const { lines, asked } = await audit([
      entry,
      {
        ...entry,
        by: ada,
        action: 'token.revoke',
        target: { tokenId: '0000000000000000' },
        outcome: 'refused',
        reason: 'token-not-found',
        asked: {},
        before: null,
        after: null,
      },
      {
        ...entry,
        by: { ...ada, name: null },
        action: 'repo.update',
        target: { repo: 'game' },
        before: { publicRead: null },
        after: { publicRead: { monthlyLimitBytes: 5 } },
      },
      {
        ...entry,
        by: { kind: 'identity', tokenId: null, name: 'repo:acme/game' },
        action: 'lock.force',
        outcome: 'begun',
        before: null,
        after: null,
      },
      { ...entry, action: 'token.revoke', before: { label: 'x' }, after: null },
    ]);
    expect(lines).toEqual([
      'time                  who                       action         target            outcome                   change',
      '2026-11-21T05:00:00Z  operator                  tenant.update  -                 done                      limitBytes: 10 → 20, plan: - → team',
      '2026-11-21T05:00:00Z  ada (5f0c1e2d3b4a5968)    token.revoke   0000000000000000  refused: token-not-found  -',
      '2026-11-21T05:00:00Z  token (5f0c1e2d3b4a5968)  repo.update    game              done                      publicRead: - → {"monthlyLimitBytes":5}',
      '2026-11-21T05:00:00Z  repo:acme/game            lock.force     -                 begun                     limitBytes: 20, plan: team',
      '2026-11-21T05:00:00Z  operator                  token.revoke   -                 done                      label: x → -',
      '',
    ]);
    expect(asked).toEqual(['/v1/tenants/acme/audit']);
  });

  it('asks for days and an action, and cuts nothing without a terminal', async () => {
    const { asked, out } = await audit(
      [{ ...entry, before: null, after: { label: 'x'.repeat(300) } }],
      '--from',
      '2026-11-01',
      '--to',
      '2026-11-30',
      '--action',
      'token.create',
    );
    expect(asked).toEqual(['/v1/tenants/acme/audit?from=2026-11-01&to=2026-11-30&action=token.create']);
    expect(out).toContain(`label: ${'x'.repeat(300)}\n`);
  });

  it('shows nothing, and with --json what the API said', async () => {
    expect((await audit([])).out).toBe('Nothing was done in this time.\n');
    await server?.close();
    expect(JSON.parse((await audit([entry], '--json')).out)).toEqual({ entries: [entry], nextCursor: null });
    await server?.close();
    expect(await audit([], '--action', 'token.steal')).toMatchObject({ code: 2 });
  });
});
