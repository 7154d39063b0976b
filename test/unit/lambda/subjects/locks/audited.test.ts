import { expect, it } from 'vitest';
import { create } from '../../../../../lambda/functions/management.ts';
import { lockHashOf } from '../../../../../lambda/subjects/locks/rules/locks.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { adminToken, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryAuditLog } from '../../../../support/memory/stores.ts';

it('the audit tells of which files locks were released', async () => {
  const audit = new MemoryAuditLog();
  const deps = memoryDeps({ audit });
  const account = { plan: null, limitBytes: 100, createdAtMs: 1, scanned: null, dueAtMs: 1 };
  await deps.ledger.createTenant({ ...account, tenant: 'acme' });
  const release = async (query: Record<string, string>) => {
    const event = httpEvent({
      method: 'DELETE',
      routeKey: 'DELETE /v1/tenants/{tenant}/repos/{repo}/locks',
      headers: { authorization: `Bearer ${adminToken}` },
      pathParameters: { tenant: 'acme', repo: 'game' },
      body: '{}',
    });
    event.requestContext.requestId = `r${audit.entries.length}`;
    event.requestContext.timeEpoch = deps.clock.nowMs();
    event.queryStringParameters = query;
    expect((await create(deps)(event, noContext)).statusCode).toBe(200);
    return audit.entries.find(({ requestId }) => requestId === event.requestContext.requestId);
  };
  const paths = Array.from({ length: 25 }, (_, index) => `art/${String(index).padStart(2, '0')}.psd`);
  for (const path of paths) {
    const id = `${lockHashOf(path)}${'a'.repeat(12)}`;
    const own = { id, path, ownerId: 'user:bob', ownerName: 'bob', lockedAtMs: 1 };
    expect((await deps.locks.take({ tenant: 'acme', repo: 'game', lock: own })).kind).toBe('taken');
  }
  const asked = { owner: 'ada' };
  const none = { action: 'locks.release', asked, after: { releasedCount: 0, hasMore: false } };
  expect(await release(asked)).toMatchObject(none);
  const path = paths[7] ?? '';
  expect(await release({ path })).toMatchObject({ before: { paths: [path] }, after: { releasedCount: 1 } });
  expect(await release({ path })).toMatchObject({ before: { paths: [] }, after: { releasedCount: 0 } });
  const { before, after } = (await release({})) ?? {};
  expect(after).toMatchObject({ releasedCount: 24 });
  const named = (before?.['paths'] ?? []) as readonly string[];
  expect(named).toHaveLength(21);
  expect(named.at(-1)).toBe('…');
  for (const each of named.slice(0, -1)) expect(paths).toContain(each);
});
