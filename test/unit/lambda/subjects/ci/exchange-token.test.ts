import { beforeEach, describe, expect, it } from 'vitest';
import { AuditUnavailableError, LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { tokenIdOf } from '../../../../../lambda/frame/access/rules/tokens.ts';
import { authenticateToken } from '../../../../../lambda/frame/access/tokens.ts';
import { exchangeToken } from '../../../../../lambda/subjects/ci/exchange-token.ts';
import { createDynamoDbExchangeRules } from '../../../../../lambda/subjects/ci/rule-store.ts';
import type { Claims, ExchangeRule } from '../../../../../lambda/subjects/ci/rules/identities.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import {
  MemoryAuditLog,
  MemoryRequestKeys,
  MemoryTokenStore,
  storeClass,
} from '../../../../support/memory/stores.ts';

class MemoryExchangeRules extends storeClass(createDynamoDbExchangeRules) {}

const issuer = 'https://issuer.example';
const [tenant, audience] = ['acme', 'https://lfs.example.com/acme'];

describe('an identity', () => {
  let claims: Claims;
  const stores = {
    ledger: new MemoryLedger(),
    exchangeRules: new MemoryExchangeRules(),
    tokens: new MemoryTokenStore(),
    requestKeys: new MemoryRequestKeys(),
    audit: new MemoryAuditLog(),
    clock: new ManualClock(),
  };
  const deps = () =>
    memoryDeps({ ...stores, identities: { verify: async () => ({ kind: 'verified', issuer, claims }) } });
  let requests = 0;
  const exchange = (of = tenant, idToken = 'jwt') => {
    requests += 1;
    return exchangeToken(deps(), { tenant: of, idToken, audience, requestId: `r${requests}` });
  };
  const rule = (more: Partial<ExchangeRule> = {}): ExchangeRule => ({
    id: '00',
    tenant,
    issuer,
    match: { repository_id: ['7'], ref: ['refs/heads/main'] },
    scope: 'write',
    repos: ['game'],
    lifetimeMs: 3_600_000,
    createdAtMs: 1,
    ...more,
  });

  beforeEach(async () => {
    requests = 0;
    const exchangeRules = new MemoryExchangeRules();
    Object.assign(stores, {
      ledger: new MemoryLedger(),
      exchangeRules,
      tokens: new MemoryTokenStore({ on: exchangeRules.table }),
      requestKeys: new MemoryRequestKeys(),
      audit: new MemoryAuditLog(),
      clock: new ManualClock(),
    });
    claims = { sub: 'repo:acme/game', repository_id: '7', ref: 'refs/heads/main' };
    for (const name of [tenant, 'other']) await stores.ledger.createTenant(newTenant(name));
    await stores.exchangeRules.put(rule());
  });

  it.each(['absent', 'other', 'deleted', tenant])('is refused after the same time: %s', async (of) => {
    await stores.ledger.createTenant(newTenant('deleted'));
    await stores.ledger.closeTenant({ tenant: 'deleted', closedAtMs: 5 });
    claims = { repository_id: '8' };
    // The rules of a tenant take longer than those of none.
    const { exchangeRules, clock } = stores;
    const list = async (name: string) => {
      clock.advance(name === tenant ? 12 : 2);
      return exchangeRules.list(name);
    };
    const beganMs = clock.nowMs();
    const slow = { ...deps(), exchangeRules: Object.assign(Object.create(exchangeRules), { list }) };
    const answer = await exchangeToken(slow, { tenant: of, idToken: 'jwt', audience, requestId: 'r1' });
    expect([answer.kind, clock.nowMs() - beganMs]).toEqual(['rejected', 50]);
  });

  it('is verified for the audience that it must be meant for, and the log is told why it is rejected', async () => {
    const asked: object[] = [];
    const verify = async (input: object) => {
      asked.push(input);
      return { kind: 'verified', issuer, claims } as const;
    };
    const identities = { verify };
    const ask = (of: string) =>
      exchangeToken({ ...deps(), identities }, { tenant: of, idToken: 'jwt', audience, requestId: 'r1' });
    expect(await ask('absent')).toEqual({ kind: 'rejected', reason: "the tenant doesn't exist" });
    expect(await ask('other')).toEqual({ kind: 'rejected', reason: 'no rule lets it in' });
    expect(asked).toEqual([
      { idToken: 'jwt', audience },
      { idToken: 'jwt', audience },
    ]);
  });

  it('that a rule lets in gets a token of its scope and repos, for as long as the rule says', async () => {
    const { clock, tokens } = stores;
    const outcome = await exchange();
    if (outcome.kind !== 'created') throw new Error('refused');
    expect(outcome.record).toEqual({
      tokenId: tokenIdOf(outcome.token),
      secretSha256: expect.any(String),
      tenant,
      scope: 'write',
      repos: ['game'],
      user: 'repo:acme/game',
      label: 'rule 00',
      ruleId: '00',
      createdAtMs: clock.nowMs(),
      expiresAtMs: clock.nowMs() + 3_600_000,
      lastUsedAtMs: null,
    });
    const use = { tenant, repo: 'game', credential: outcome.token };
    expect(await authenticateToken({ tokens, clock }, use)).toMatchObject({ kind: 'granted' });
    expect(await authenticateToken({ tokens, clock }, { ...use, repo: 'film' })).toEqual({
      kind: 'not-found',
    });
    clock.advance(3_600_000);
    expect(await authenticateToken({ tokens, clock }, use)).toEqual({ kind: 'unauthenticated' });
  });

  it('gets one token, however often it is sent, and none once that is revoked or has expired', async () => {
    const sent = [await exchange(), await exchange(), await exchange()];
    const made = sent.map((outcome) => (outcome.kind === 'created' ? outcome.token : outcome.reason));
    expect(new Set(made).size).toBe(1);
    expect(await stores.tokens.list(tenant)).toHaveLength(1);
    expect(stores.audit.entries).toHaveLength(1);
    expect(await exchange(tenant, 'jwt of the next job')).toMatchObject({ kind: 'created' });
    expect(stores.audit.entries).toHaveLength(2);
    const [first] = await stores.tokens.list(tenant);
    await stores.tokens.delete({ tenant, tokenId: tokenIdOf(made[0] ?? '') });
    expect(await exchange()).toMatchObject({ kind: 'rejected', reason: expect.stringMatching(/revoked/) });
    expect(first).toBeDefined();
    stores.clock.advance(3_600_000);
    expect(await exchange(tenant, 'jwt of the next job')).toMatchObject({ kind: 'rejected' });
  });

  it('loses its token with the rule that gave it', async () => {
    const outcome = await exchange();
    if (outcome.kind !== 'created') throw new Error('refused');
    const use = { tenant, repo: 'game', credential: outcome.token };
    expect(await authenticateToken(stores, use)).toMatchObject({ kind: 'granted' });
    await stores.exchangeRules.put(rule({ id: '01' }));
    await stores.exchangeRules.delete({ tenant, id: '00' });
    expect(await authenticateToken(stores, use)).toEqual({ kind: 'unauthenticated' });
    expect(await exchange()).toMatchObject({
      kind: 'rejected',
      reason: expect.stringMatching(/key-reused/),
    });
  });

  it.each<[string, () => unknown, string?]>([
    ['that no rule lets in', () => Object.assign(claims, { ref: 'refs/heads/other' })],
    ['for a tenant without rules', () => undefined, 'other'],
    ['for a tenant that is none', () => undefined, 'absent'],
    ['for a tenant that is being deleted', () => stores.ledger.closeTenant({ tenant, closedAtMs: 5 })],
    ['whose rule is gone', () => stores.exchangeRules.delete({ tenant, id: '00' })],
  ])('%s gets none', async (_what, prepare, of = tenant) => {
    await prepare();
    expect(await exchange(of)).toMatchObject({ kind: 'rejected' });
    expect(await stores.tokens.list(of)).toEqual([]);
  });

  it('that is not verified makes nothing of the tenant be read', async () => {
    const untouched: never = new Proxy({} as never, {
      get: (_, name) => expect.fail(`${String(name)} was read`),
    });
    const rejected = { verify: async () => ({ kind: 'rejected', reason: 'it has expired' }) as const };
    const asked = { ...deps(), ledger: untouched, exchangeRules: untouched, tokens: untouched };
    const outcome = await exchangeToken(
      { ...asked, identities: rejected },
      {
        tenant,
        idToken: 'jwt',
        audience,
        requestId: 'r1',
      },
    );
    expect(outcome).toEqual({ kind: 'rejected', reason: 'it has expired' });
  });

  it.each([
    [undefined, null],
    ['', null],
    ['\u001b\u202e', null],
    ['ada\u001b[31m\n\u202ex', 'ada[31mx'],
    [7, null],
    ['ü'.repeat(300), 'ü'.repeat(100)],
  ])('whose subject is %j is called %j', async (sub, user) => {
    claims = { ...claims, sub };
    expect(await exchange()).toMatchObject({ record: { user } });
  });

  it('that gets a token is audited, with the rule and without the token', async () => {
    const outcome = await exchange();
    if (outcome.kind !== 'created') throw new Error(outcome.reason);
    expect(stores.audit.entries).toMatchObject([
      {
        tenant,
        requestId: 'r1',
        by: { kind: 'identity', tokenId: null, name: 'repo:acme/game' },
        action: 'identity.exchange',
        target: { ruleId: '00' },
        asked: { issuer },
        outcome: 'succeeded',
        after: { tokenId: outcome.record.tokenId, scope: 'write', repos: ['game'] },
      },
    ]);
    expect(JSON.stringify(stores.audit.entries)).not.toContain(outcome.token.slice(5));
  });

  it('that gets none writes nothing, whatever the tenant', async () => {
    claims = { ...claims, ref: 'refs/heads/other' };
    for (const of of [tenant, 'other', 'absent']) expect((await exchange(of)).kind).toBe('rejected');
    expect(stores.audit.entries).toEqual([]);
  });

  it('gets none while that cannot be audited', async () => {
    stores.audit.begin = async () => {
      throw new LedgerUnavailableError('down');
    };
    await expect(exchange()).rejects.toThrow(AuditUnavailableError);
    expect(await stores.tokens.list(tenant)).toEqual([]);
  });
});
