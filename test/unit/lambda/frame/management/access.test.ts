import { beforeEach, describe, expect, it } from 'vitest';
import { tokenIdOf } from '../../../../../lambda/frame/access/rules/tokens.ts';
import { readerAccess } from '../../../../../lambda/frame/management/access.ts';
import { create as getSubscription } from '../../../../../lambda/frame/management/get-subscription.ts';
import { create as management } from '../../../../../lambda/functions/management.ts';
import { lfsAccess, RejectedLogins } from '../../../../../lambda/subjects/lfs/access.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryTokenStore } from '../../../../support/memory/stores.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const tokenFor = (tenant: string) => `lfsq_${tenant.padEnd(40, '0')}`;

const event = (tenant: string, presented: string) =>
  httpEvent({
    headers: { authorization: `Bearer ${presented}` },
    pathParameters: { tenant, repo: 'game.git' },
  });

describe('access to a tenant', () => {
  let ledger: MemoryLedger;
  let tokens: MemoryTokenStore;
  const deps = () => ({
    ...memoryDeps({ ledger, tokens }),
    rejectedLogins: new RejectedLogins(new ManualClock()),
  });

  /** Tenants `open` and `closed`, each with a token; `absent` has a token that outlived it. */
  beforeEach(async () => {
    ledger = new MemoryLedger();
    tokens = new MemoryTokenStore();
    for (const tenant of ['open', 'closed', 'absent']) {
      const account = { tenant, plan: null, limitBytes: null, createdAtMs: 1, scanned: null, dueAtMs: 1 };
      if (tenant !== 'absent') await ledger.createTenant(account);
      await tokens.put(tokenRecord(tokenFor(tenant), { tenant }));
    }
    await ledger.closeTenant({ tenant: 'closed', closedAtMs: 5 });
  });

  it.each([
    ['the LFS API', lfsAccess],
    ['the management API', readerAccess],
  ])('is refused by %s in one way, be it closed, absent, another’s, or no name', async (_api, check) => {
    const closed = await check(deps(), event('closed', tokenFor('closed')));
    expect(closed).toMatchObject({ ok: false, response: { statusCode: 404 } });
    for (const [tenant, token] of [
      ['absent', 'absent'],
      ['open', 'closed'],
      ['closed', 'open'],
      ['absent', 'open'],
      ['..', 'open'],
    ] as const) {
      expect(await check(deps(), event(tenant, tokenFor(token)))).toEqual(closed);
    }
  });

  it('needs the whole token, not only one with the same id', async () => {
    const record = await tokens.find(tokenIdOf(tokenFor('open')));
    const sameId = { ...deps(), tokens: Object.assign(new MemoryTokenStore(), { find: async () => record }) };
    const access = await lfsAccess(sameId, event('open', `${tokenFor('open')}x`));
    expect(access).toMatchObject({ ok: false, response: { statusCode: 401 } });
  });

  it('ends when the token expires, as if there were none', async () => {
    const clock = new ManualClock();
    const token = tokenFor('brief');
    await tokens.put(tokenRecord(token, { tenant: 'open', expiresAtMs: clock.nowMs() + 1000 }));
    const asked = { ...deps(), clock };
    expect(await lfsAccess(asked, event('open', token))).toMatchObject({ ok: true });
    expect(await readerAccess(asked, event('open', token))).toMatchObject({ ok: true });
    clock.advance(1000);
    for (const check of [lfsAccess, readerAccess])
      expect(await check(asked, event('open', token))).toMatchObject({ response: { statusCode: 401 } });
  });

  it('notes the use of a token once an hour, and goes on if that fails', async () => {
    const clock = new ManualClock();
    const asked = { ...deps(), clock };
    const noted = async () => (await tokens.find(tokenIdOf(tokenFor('open'))))?.lastUsedAtMs;
    const firstMs = clock.nowMs();
    for (const check of [lfsAccess, readerAccess, lfsAccess]) {
      await check(asked, event('open', tokenFor('open')));
      expect(await noted()).toBe(firstMs);
      clock.advance(60_000);
    }
    clock.advance(60 * 60_000);
    await readerAccess(asked, event('open', tokenFor('open')));
    expect(await noted()).toBe(clock.nowMs());
    clock.advance(60 * 60_000);
    const failing = Object.assign(new MemoryTokenStore(), {
      find: (tokenId: string) => tokens.find(tokenId),
      noteUse: () => Promise.reject(new Error('no')),
    });
    expect(await lfsAccess({ ...asked, tokens: failing }, event('open', tokenFor('open')))).toMatchObject({
      ok: true,
    });
  });

  it.each([
    ['a token that does not exist', 'open', `lfsq_${'x'.repeat(40)}`, 401],
    ['a token of another tenant', 'open', tokenFor('closed'), 404],
    ['a token of another tenant, for a tenant that does not exist', 'nobody', tokenFor('open'), 404],
  ])('reads nothing of the tenant for %s', async (_what, tenant, presented, statusCode) => {
    const read: string[] = [];
    const spied = new Proxy(ledger, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...given: unknown[]) => {
          read.push(String(name));
          return Reflect.apply(method, target, given);
        };
      },
    });
    const asked = { ...deps(), ledger: spied };
    expect(await lfsAccess(asked, event(tenant, presented))).toMatchObject({ response: { statusCode } });
    expect(await readerAccess(asked, event(tenant, presented))).toMatchObject({ response: { statusCode } });
    const { statusCode: answered } = await getSubscription(asked)(event(tenant, presented), noContext);
    const listed = await management(asked)(
      { ...event(tenant, presented), routeKey: 'GET /v1/tenants/{tenant}/reservations' },
      noContext,
    );
    expect([answered, listed.statusCode, read]).toEqual([statusCode, statusCode, []]);
  });
});
