import { beforeEach, describe, expect, it } from 'vitest';
import { contract } from '../../../../../lambda/contract.ts';
import { hostCheckMs, type TokenRecord } from '../../../../../lambda/frame/access/rules/tokens.ts';
import { beginSession } from '../../../../../lambda/frame/access/tokens.ts';
import { needsHostCheck, type RouteContract } from '../../../../../lambda/frame/contract/contract.ts';
import { create } from '../../../../../lambda/functions/management.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';

describe('a user of a git host', () => {
  let deps: Deps;
  let clock: ManualClock;
  let user: TokenRecord;
  let cookie: string;

  beforeEach(async () => {
    clock = new ManualClock();
    const app = { clientId: 'app', clientSecretArn: 'secret' };
    deps = memoryDeps({
      clock,
      gitHosts: [{ id: 'forge', kind: 'gitea', url: 'https://git.example.com', signIn: app }],
    });
    const createdAtMs = clock.nowMs();
    await deps.ledger.createTenant({
      tenant: 'acme',
      plan: null,
      limitBytes: null,
      createdAtMs,
      scanned: { storedBytes: 0, objectCount: 0, scannedAtMs: createdAtMs },
      dueAtMs: createdAtMs,
    });
    const allowed = { tenant: 'acme', host: 'forge', organizationId: '42', name: 'acme-games' };
    const rights = { owners: 'manage', members: 'read', collaborators: false, sinceMs: 1 } as const;
    await deps.users.allow({ ...allowed, ...rights });
    user = {
      tokenId: '0123456789abcdef',
      secretSha256: 'ab'.repeat(32),
      tenant: 'acme',
      scope: 'manage',
      label: null,
      user: 'ada',
      hostUser: { id: 'forge:1', login: 'ada' },
      allowedBy: { organizationId: '42', role: 'owner', sinceMs: 1 },
      repos: null,
      createdAtMs,
      expiresAtMs: createdAtMs + 8 * 3_600_000,
      lastUsedAtMs: createdAtMs,
    };
    await deps.tokens.putUser(user);
    const { value } = await beginSession(deps, { token: user, organizations: [] });
    cookie = `__Host-lfsq=${value}`;
  });

  const ask = async (routeKey: string, body?: object, more: Record<string, string> = {}) => {
    const headers = { 'lfs-quota-console': '1', 'content-type': 'application/json' };
    const [method = '', path = ''] = routeKey.split(' ');
    const pathParameters = { tenant: 'acme', ...more };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const event = httpEvent({ method, path, routeKey, headers, pathParameters, ...sent });
    const answer = await create(deps)({ ...event, cookies: [cookie] }, noContext);
    return { status: answer.statusCode, code: JSON.parse(answer.body || '{}').code };
  };

  it('changes things for an hour, and reads on', async () => {
    const create = () => ask('POST /v1/tenants/{tenant}/tokens', { scope: 'read' });
    clock.advance(hostCheckMs - 1);
    expect(await create()).toMatchObject({ status: 201 });
    clock.advance(1);
    expect(await create()).toEqual({ status: 403, code: 'sign-in-again' });
    expect(
      await ask('DELETE /v1/tenants/{tenant}/users/{userId}', undefined, { userId: user.tokenId }),
    ).toEqual({
      status: 403,
      code: 'sign-in-again',
    });
    expect(await ask('GET /v1/tenants/{tenant}/tokens')).toMatchObject({ status: 200 });
    const { entries } = await deps.audit.list({
      tenant: 'acme',
      fromMs: 0,
      untilMs: clock.nowMs() + 1,
      pageSize: 10,
    });
    expect(entries.map(({ action, by }) => [action, by.tokenId])).toEqual([['token.create', 'forge:1']]);
  });

  it('is asked for all that they can change', () => {
    const all: [string, RouteContract][] = Object.entries(contract);
    const asked = all.filter(([, each]) => needsHostCheck(each)).map(([route]) => route);
    const changing = all.filter(
      ([route, { access }]) =>
        ['manager', 'reader', 'writer', 'collector'].includes(access) && !route.startsWith('GET '),
    );
    expect(asked).toEqual(changing.map(([route]) => route));
    expect(asked).toEqual(
      expect.arrayContaining([
        'DELETE /v1/tenants/{tenant}/repos/{repo}',
        'POST /v1/tenants/{tenant}/tokens',
        'POST /v1/tenants/{tenant}/exports',
        'DELETE /v1/tenants/{tenant}/exports/{exportId}',
        'PUT /v1/tenants/{tenant}/organizations',
        'PATCH /v1/tenants/{tenant}/repos/{repo}',
      ]),
    );
  });

  it('is nobody once they are no longer allowed', async () => {
    await deps.users.disallow({ tenant: 'acme', host: 'forge', organizationId: '42' });
    expect(await ask('GET /v1/tenants/{tenant}/tokens')).toMatchObject({ status: 401 });
  });
});
