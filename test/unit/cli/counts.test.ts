import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

const first = {
  repo: 'footage',
  kind: 'first',
  state: 'running',
  progress: {
    share: 0.25,
    objectCount: 125_000_000,
    listRequests: 126_400,
    objectsPerSecond: 694_444.4,
    secondsLeft: 540,
    beganAt: '2026-11-21T04:57:00Z',
    updatedAt: '2026-11-21T05:00:00Z',
  },
};
const rolling = { repo: 'game', kind: 'rolling', state: 'paused', progress: null };

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(answer: (asked: Asked) => Answer) {
  server = await startServer(answer);
  const env = { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 't' };
  const { asked } = server;
  return { asked, run: (...args: string[]) => cli(['count', ...args], { env }) };
}

describe('count', () => {
  it('list shows how far each is', async () => {
    const { asked, run } = await serve(({ path }) => ({
      status: 200,
      body: path.includes('cursor=')
        ? { counts: [rolling], nextCursor: null }
        : { counts: [first], nextCursor: 'c00' },
    }));
    const result = await run('list', 'acme');
    expect(result).toMatchObject({ code: 0, err: '' });
    expect(result.out).toBe(
      [
        'repo     count    state      done      objects  a second    LISTs  began      left',
        'footage  first    running  25.0 %  125,000,000   694,444  126,400  3 min ago  in 9 min',
        'game     rolling  paused        -            -         -        -  -          -',
        '',
      ].join('\n'),
    );
    expect(asked.map(({ path }) => path)[0]).toMatch(/^\/v1\/tenants\/acme\/counts/);
  });

  it('list says so if there is none', async () => {
    const { run } = await serve(() => ({ status: 200, body: { counts: [], nextCursor: null } }));
    expect((await run('list', 'acme')).out).toBe('No repo is so large that it is counted by shards.\n');
    expect((await run('list', 'acme', '--json')).out).toBe('{"counts":[],"nextCursor":null}\n');
  });

  it.each([
    ['pause', 'paused'],
    ['resume', 'running'],
    ['cancel', 'cancelled'],
  ])('%s asks for %s', async (command, state) => {
    const { asked, run } = await serve(() => ({ status: 200, body: rolling }));
    expect((await run(command, 'acme', 'game')).out).toContain('rolling  paused');
    expect(asked).toMatchObject([{ method: 'PATCH', path: '/v1/tenants/acme/repos/game/count' }]);
    expect(asked[0]?.body).toEqual({ state });
    expect(JSON.parse((await run(command, 'acme', 'game', '--json')).out)).toEqual(rolling);
  });
});
