import { describe, expect, it } from 'vitest';
import { create as createManagement } from '../../../../../lambda/functions/management.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { adminToken, memoryDeps } from '../../../../support/memory/deps.ts';

describe('to map a repo to a git host', () => {
  const forge = { id: 'forge', kind: 'gitea', url: 'https://git.example.com' } as const;
  it.each([
    [[], 'gitHost.host: this server has no git hosts. The operator configures them (gitHosts).'],
    [[forge], 'gitHost.host: must be one of: forge.'],
  ])('is refused with the hosts that there are: %j', async (gitHosts, detail) => {
    const deps = memoryDeps({ gitHosts });
    await deps.ledger.createTenant({
      plan: null,
      limitBytes: null,
      createdAtMs: 1,
      dueAtMs: 1,
      tenant: 'acme',
      scanned: { storedBytes: 0, objectCount: 0, scannedAtMs: deps.clock.nowMs() },
    });
    const event = httpEvent({
      method: 'PATCH',
      routeKey: 'PATCH /v1/tenants/{tenant}/repos/{repo}',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      pathParameters: { tenant: 'acme', repo: 'game' },
      body: JSON.stringify({ gitHost: { host: 'github', repo: 'acme/game' } }),
    });
    const { statusCode, body } = await createManagement(deps)(event, noContext);
    expect([statusCode, JSON.parse(body ?? '')]).toMatchObject([422, { code: 'invalid-body', detail }]);
  });
});
