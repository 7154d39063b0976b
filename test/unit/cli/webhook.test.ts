import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, cli, startServer, type TestServer } from './harness.ts';

const webhook = {
  url: 'https://hooks.example.com/a',
  createdAt: '2026-11-20T05:00:00Z',
  secretChangedAt: '2026-11-20T05:00:00Z',
  last: null,
};
const last = {
  eventId: 'acme:7',
  type: 'storage.level',
  at: '2026-11-21T04:59:48Z',
  attempt: 2,
  outcome: 'delivered',
  status: 204,
  failure: null,
  nextAt: null,
};

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function run(answer: Answer, ...args: string[]) {
  server = await startServer(() => answer);
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
  return { ...(await cli(['webhook', ...args], { env })), asked: server.asked[0] };
}

describe('webhook', () => {
  it('set prints the secret alone to standard output', async () => {
    const body = { ...webhook, secret: 'whsec_abc' };
    const { out, err, asked } = await run({ status: 201, body }, 'set', 'acme', webhook.url);
    expect([out, err]).toEqual(['whsec_abc\n', expect.stringContaining('shown this once')]);
    expect(asked).toMatchObject({
      method: 'PUT',
      path: '/v1/tenants/acme/webhook',
      body: { url: webhook.url },
    });
    expect(asked?.body).not.toHaveProperty('newSecret');
  });

  it('set asks for a new secret only if it is told to, and shows the webhook if there is none', async () => {
    const body = { ...webhook, secret: null };
    const { out, asked } = await run({ status: 200, body }, 'set', 'acme', webhook.url, '--new-secret');
    expect(asked?.body).toEqual({ url: webhook.url, newSecret: true });
    expect(out).toBe(
      'url     https://hooks.example.com/a\nsecret  since 2026-11-20T05:00:00Z\nlast    nothing was sent yet\n',
    );
  });

  it.each([
    [{}, 'storage.level acme:7, attempt 2, 12 s ago: delivered (204)'],
    [
      { outcome: 'failed', status: 500, failure: 'status', nextAt: '2026-11-21T05:30:00Z' },
      'storage.level acme:7, attempt 2, 12 s ago: answered 500, again in 30 min',
    ],
    [
      { outcome: 'given-up', status: null, failure: 'address-not-public' },
      'storage.level acme:7, attempt 2, 12 s ago: address not public, given up',
    ],
  ])('show says what became of the last one: %j', async (change, text) => {
    const body = { ...webhook, last: { ...last, ...change } };
    const { out, asked } = await run({ status: 200, body }, 'show', 'acme');
    expect(out).toContain(`last    ${text}\n`);
    expect(asked).toMatchObject({ method: 'GET', path: '/v1/tenants/acme/webhook' });
  });

  it('delete and test say what they did', async () => {
    const deleted = await run({ status: 204 }, 'delete', 'acme');
    expect([deleted.out, deleted.asked?.method]).toEqual(['The webhook is deleted.\n', 'DELETE']);
    await server?.close();
    const body = { tenant: 'acme', eventId: 'acme:test-1' };
    const tested = await run({ status: 202, body }, 'test', 'acme');
    expect(tested.out).toBe('Sending acme:test-1. See what became of it: lfs-quota webhook show acme\n');
    expect(tested.asked).toMatchObject({ method: 'POST', path: '/v1/tenants/acme/webhook/test' });
  });

  it.each([
    ['show', { status: 200, body: webhook }],
    ['test', { status: 202, body: { tenant: 'acme', eventId: 'acme:test-1' } }],
  ])('%s --json prints the body as it is', async (command, answer) => {
    const { out } = await run(answer, command, 'acme', '--json');
    expect(JSON.parse(out)).toEqual(answer.body);
  });
});
