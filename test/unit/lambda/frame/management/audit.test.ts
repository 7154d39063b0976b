import { beforeEach, describe, expect, it, vi } from 'vitest';
import { contract } from '../../../../../lambda/contract.ts';
import { repoLimitsMax } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { auditActions } from '../../../../../lambda/frame/access/rules/audit.ts';
import type { RouteContract } from '../../../../../lambda/frame/contract/contract.ts';
import { create } from '../../../../../lambda/functions/management.ts';
import type { RouteKey } from '../../../../../lambda/routes.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { adminToken, ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { MemoryAuditLog } from '../../../../support/memory/stores.ts';
import { setRepoLimit } from '../../../../support/over-settings.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const oid = 'a'.repeat(64);
const write = `lfsq_${'w'.repeat(40)}`;
const manage = `lfsq_${'m'.repeat(40)}`;
const days = (count: number) => count * 24 * 60 * 60_000;

describe('the management API', () => {
  let audit: MemoryAuditLog;
  let deps: ReturnType<typeof memoryDeps>;
  let requests: number;
  const clock = new ManualClock();

  beforeEach(async () => {
    requests = 0;
    audit = new MemoryAuditLog();
    const objects = new MemoryObjectStore();
    objects.put(`acme/game/${oid}`, 10);
    deps = memoryDeps({ audit, objects, clock });
    const account = { plan: null, limitBytes: 100, createdAtMs: 1, scanned: null, dueAtMs: 1 };
    await deps.ledger.createTenant({ ...account, tenant: 'acme' });
    await deps.tokens.put(tokenRecord(write, { tenant: 'acme', scope: 'write' }));
    await deps.tokens.put(tokenRecord(manage, { tenant: 'acme', scope: 'manage', user: 'ada' }));
  });

  async function ask(
    routeKey: string,
    sent: {
      path?: Record<string, string>;
      body?: unknown;
      query?: Record<string, string>;
      token?: string;
    } = {},
  ) {
    requests += 1;
    const event = httpEvent({
      method: routeKey.split(' ')[0] ?? '',
      routeKey,
      headers: {
        authorization: `Bearer ${sent.token ?? adminToken}`,
        'content-type': 'application/json',
      },
      pathParameters: { tenant: 'acme', ...sent.path },
      body: JSON.stringify(sent.body ?? {}),
    });
    event.requestContext.requestId = `r${requests}`;
    event.requestContext.timeEpoch = clock.nowMs();
    if (sent.query) event.queryStringParameters = sent.query;
    const { statusCode = 0, body, headers } = await create(deps)(event, noContext);
    return { status: statusCode, body: body ? JSON.parse(body) : undefined, headers };
  }
  const last = () => audit.entries.at(-1);

  it('audits whatever is no GET, each under a name of its own', () => {
    const said: Readonly<Record<RouteKey, RouteContract>> = contract;
    const actions = Object.values(said).flatMap(({ action }) => action ?? []);
    expect(new Set(actions).size).toBe(actions.length);
    const others = ['console-link.open', 'identity.exchange', 'invitation.accept', 'lock.force'];
    expect(new Set([...actions, ...others])).toEqual(new Set(auditActions));
  });

  it.each([
    ['a git host that the stage does not know', { gitHost: { host: 'typo', repo: 'acme/game' } }, 422],
    ['a limit beside as many as there may be', { limitBytes: 5 }, 409],
  ])('a change of a repo that is refused for %s has changed nothing', async (_, refused, status) => {
    for (let index = 0; index < repoLimitsMax; index += 1)
      await setRepoLimit(deps.ledger, { tenant: 'acme', repo: `r${index}`, limitBytes: 1 });
    const answer = await ask('PATCH /v1/tenants/{tenant}/repos/{repo}', {
      path: { repo: 'game' },
      body: { publicRead: { monthlyLimitBytes: 100 }, ...refused },
    });
    expect(answer.status).toBe(status);
    expect(last()).toMatchObject({ outcome: 'denied', before: null, after: null });
    const { body } = await ask('GET /v1/tenants/{tenant}/repos/{repo}', { path: { repo: 'game' } });
    expect(body).not.toHaveProperty('publicRead');
  });

  it('tells all that was changed of a repo at once', async () => {
    const answer = await ask('PATCH /v1/tenants/{tenant}/repos/{repo}', {
      path: { repo: 'game' },
      body: { publicRead: { monthlyLimitBytes: 100 }, limitBytes: 5 },
    });
    expect(answer.body).toMatchObject({ limitBytes: 5, publicRead: { monthlyLimitBytes: 100 } });
    expect(last()).toMatchObject({
      outcome: 'succeeded',
      before: { publicRead: null, limitBytes: null },
      after: { publicRead: { monthlyLimitBytes: 100 }, limitBytes: 5 },
    });
  });

  it('tells over which limit of a repo another was set, though somebody had set it meanwhile', async () => {
    const { ledger } = deps;
    const write = ledger.setRepoLimit.bind(ledger);
    vi.spyOn(ledger, 'setRepoLimit').mockImplementationOnce(async (input) => {
      await write({ ...input, limitBytes: 7 });
      return write(input);
    });
    await ask('PATCH /v1/tenants/{tenant}/repos/{repo}', {
      path: { repo: 'game' },
      body: { limitBytes: 5 },
    });
    expect(last()).toMatchObject({ before: { limitBytes: 7 }, after: { limitBytes: 5 } });
  });

  it.each([
    [
      'POST /v1/tenants',
      { body: { tenant: 'new', limitBytes: 7 } },
      { tenant: 'new', action: 'tenant.create', before: null, after: { limitBytes: 7, plan: null } },
    ],
    [
      'POST /v1/tenants/{tenant}/tokens',
      { body: { scope: 'read', user: 'bob' }, token: manage },
      {
        action: 'token.create',
        by: { kind: 'token', name: 'ada' },
        before: null,
        after: { tokenId: expect.stringMatching(/^[0-9a-f]{16}$/), scope: 'read', user: 'bob' },
      },
    ],
    [
      'POST /v1/tenants/{tenant}/exchange-rules',
      {
        body: {
          issuer: 'https://token.actions.githubusercontent.com',
          match: { repository_id: '7' },
          scope: 'read',
        },
      },
      { action: 'rule.create', before: null, after: { match: { repository_id: ['7'] }, scope: 'read' } },
    ],
    ['POST /v1/tenants/{tenant}/reconcile', {}, { action: 'reconcile.request', asked: {}, after: null }],
    [
      'PATCH /v1/tenants/{tenant}/repos/{repo}',
      { path: { repo: 'game.git' }, body: { publicRead: { monthlyLimitBytes: 5 } } },
      {
        action: 'repo.update',
        target: { repo: 'game' },
        before: { publicRead: null },
        after: { publicRead: { monthlyLimitBytes: 5 } },
      },
    ],
    [
      'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}',
      { path: { repo: 'game', oid } },
      { action: 'object.delete', target: { repo: 'game', oid }, after: { objectCount: 1, bytes: 10 } },
    ],
    [
      'DELETE /v1/tenants/{tenant}/repos/{repo}',
      { path: { repo: 'game' } },
      { action: 'repo.delete', target: { repo: 'game' }, after: { objectCount: null, bytes: null } },
    ],
    ['DELETE /v1/tenants/{tenant}', {}, { action: 'tenant.delete', before: { limitBytes: 100 } }],
  ])('audits %s', async (routeKey, sent, expected) => {
    const { status, body } = await ask(routeKey, sent);
    expect([status < 300, body]).toEqual([true, body]);
    expect(audit.entries).toHaveLength(1);
    expect(last()).toMatchObject({ tenant: 'acme', outcome: 'succeeded', reason: null, ...expected });
    expect(JSON.stringify(audit.entries)).not.toMatch(/lfsq_[0-9A-Za-z]/);
  });

  it('tells what was revoked and deleted', async () => {
    const { body: made } = await ask('POST /v1/tenants/{tenant}/tokens', {
      body: { scope: 'read', label: 'x' },
    });
    await ask('DELETE /v1/tenants/{tenant}/tokens/{tokenId}', { path: { tokenId: made.tokenId } });
    expect(last()).toMatchObject({
      action: 'token.revoke',
      target: { tokenId: made.tokenId },
      before: { scope: 'read', label: 'x' },
      after: null,
    });
    const { body: rule } = await ask('POST /v1/tenants/{tenant}/exchange-rules', {
      body: { issuer: 'https://gitlab.com', match: { project_id: '7' }, scope: 'read' },
    });
    expect((await ask('DELETE /v1/tenants/{tenant}/exchange-rules/{ruleId}', { path: rule })).status).toBe(
      204,
    );
    expect(last()).toMatchObject({ action: 'rule.delete', before: { match: { project_id: ['7'] } } });
  });

  it('tells for whom an invitation was and where a webhook led', async () => {
    const { body: made } = await ask('POST /v1/tenants/{tenant}/invitations', { body: { user: 'bob' } });
    expect(last()).toMatchObject({ action: 'invitation.create', after: { user: 'bob' } });
    const revoke = () => ask('DELETE /v1/tenants/{tenant}/invitations/{invitationId}', { path: made });
    expect((await revoke()).status).toBe(204);
    expect(last()).toMatchObject({ action: 'invitation.revoke', before: { user: 'bob' }, after: null });
    expect((await revoke()).status).toBe(404);
    expect(last()).toMatchObject({ outcome: 'denied', before: null });

    await ask('PUT /v1/tenants/{tenant}/webhook', { body: { url: 'https://hooks.example.com/secret' } });
    await ask('DELETE /v1/tenants/{tenant}/webhook');
    expect(last()).toMatchObject({ action: 'webhook.delete', before: { host: 'hooks.example.com' } });
    expect(JSON.stringify(audit.entries)).not.toContain('/secret');
  });

  it('audits what was refused to somebody who may ask, with the reason', async () => {
    await ask('DELETE /v1/tenants/{tenant}/tokens/{tokenId}', { path: { tokenId: '0'.repeat(16) } });
    expect(last()).toMatchObject({ outcome: 'denied', reason: 'token-not-found', before: null });
    await ask('PATCH /v1/tenants/{tenant}/repos/{repo}/scan', {
      path: { repo: 'game' },
      body: { state: 'paused' },
    });
    expect(last()).toMatchObject({ action: 'scan.change', outcome: 'denied', reason: 'repo-not-found' });
    await ask('DELETE /v1/tenants/{tenant}/exchange-rules/{ruleId}', { path: { ruleId: write } });
    expect(last()).toMatchObject({ outcome: 'denied', target: {} });
    expect(audit.entries).toHaveLength(3);
  });

  it('changes nothing that it cannot audit, and says so', async () => {
    audit.begin = () => Promise.reject(new LedgerUnavailableError('down'));
    const { status, body, headers } = await ask('PATCH /v1/tenants/{tenant}', { body: { limitBytes: 5 } });
    expect([status, body.code, headers?.['retry-after']]).toEqual([503, 'storage-unavailable', '5']);
    expect(body.detail).toMatch(/^Nothing changed, because the audit log can't be written/);
    expect(await deps.ledger.readTenant('acme')).toMatchObject({ limitBytes: 100 });
  });

  describe('shows the audit', () => {
    const route = 'GET /v1/tenants/{tenant}/audit';
    const update = (plan: string) => ask('PATCH /v1/tenants/{tenant}', { body: { plan } });

    it('for 400 days, also where nothing removes what is older', async () => {
      await update('one');
      clock.advance(days(400) - 1000);
      expect((await ask(route)).body.entries).toHaveLength(1);
      clock.advance(2000);
      expect((await ask(route)).body.entries).toEqual([]);
      expect((await ask(route, { query: { from: '2020-01-01' } })).body.entries).toEqual([]);
    });

    it('of a deleted tenant to the operator, who gets 404 for what was never there', async () => {
      await ask('DELETE /v1/tenants/{tenant}');
      const record = await deps.ledger.readTenant('acme');
      if (!record) throw new Error('no tenant');
      deps.ledger.readTenant = async () => ({
        ...record,
        scanned: { storedBytes: 0, objectCount: 0, scannedAtMs: Number.MAX_SAFE_INTEGER },
      });
      expect((await ask('GET /v1/tenants/{tenant}')).status).toBe(404);
      expect((await ask(route)).body.entries).toMatchObject([{ action: 'tenant.delete' }]);
      deps.ledger.readTenant = async () => undefined;
      expect((await ask(route)).status).toBe(200);
      expect((await ask(route, { path: { tenant: 'absent' } })).status).toBe(404);
    });
  });
});
