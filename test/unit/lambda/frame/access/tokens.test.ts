import { beforeEach, describe, expect, it, vi } from 'vitest';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import {
  sessionLifetimeMs,
  type TokenRecord,
  tokenIdOf,
  tokenUseStepMs,
} from '../../../../../lambda/frame/access/rules/tokens.ts';
import {
  authenticateToken,
  beginSession,
  createToken,
  createTokenOnce,
  endSession,
  findSession,
  findToken,
  grantFor,
  isAdmin,
  noteTokenUse,
  type TokenGrant,
} from '../../../../../lambda/frame/access/tokens.ts';
import { systemIds } from '../../../../../lambda/frame/aws/clock-and-ids.ts';
import { adminToken, ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryTokenStore } from '../../../../support/memory/stores.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

let clock: ManualClock;
let tokens: MemoryTokenStore;
let deps: ReturnType<typeof memoryDeps>;
beforeEach(() => {
  clock = new ManualClock();
  tokens = new MemoryTokenStore();
  deps = memoryDeps({ clock, tokens });
});

describe('authenticate', () => {
  const secret = 'lfsq_secret';
  const ofAcme = tokenRecord(secret, { tenant: 'acme' });

  describe('a token', () => {
    const present = (credential: string | undefined, repo?: string, tenant = 'acme') =>
      authenticateToken(deps, { tenant, repo, credential });

    it('is for its tenant, and all repos of it', async () => {
      await tokens.put(ofAcme);
      expect(await present(secret)).toEqual({ kind: 'granted', token: ofAcme });
      expect(await present(secret, 'app')).toEqual({ kind: 'granted', token: ofAcme });
      expect(await present(secret, undefined, 'other')).toEqual({ kind: 'not-found' });
      expect(await present(secret, 'app', 'other')).toEqual({ kind: 'not-found' });
    });

    it('of some repos is for these alone', async () => {
      const token = { ...ofAcme, repos: ['app'] };
      expect(grantFor(token, { tenant: 'acme', repo: 'app' })).toEqual({ kind: 'granted', token });
      expect(grantFor(token, { tenant: 'acme', repo: 'web' })).toEqual({ kind: 'not-found' });
      expect(grantFor(token, { tenant: 'acme' })).toEqual({ kind: 'granted', token });
      expect(grantFor(token, { tenant: 'other', repo: 'app' })).toEqual({ kind: 'not-found' });
    });

    it.each([[undefined], [''], ['lfsq_other']])('that does not exist is none: %j', async (credential) => {
      await tokens.put(ofAcme);
      expect(await present(credential)).toEqual({ kind: 'unauthenticated' });
    });

    it('that is not presented is not looked for', async () => {
      tokens.find = async () => {
        throw new Error('Nothing is to be looked for.');
      };
      expect(await findToken(deps, undefined)).toBeUndefined();
      expect(await findToken(deps, '')).toBeUndefined();
    });

    it('of the same id with another secret is none', async () => {
      await tokens.put({ ...ofAcme, secretSha256: sha256Hex('another') });
      expect(await present(secret)).toEqual({ kind: 'unauthenticated' });
    });

    it('is worth nothing from the moment on at which it expires', async () => {
      await tokens.put({ ...ofAcme, expiresAtMs: clock.nowMs() + 1000 });
      clock.advance(999);
      expect(await present(secret)).toMatchObject({ kind: 'granted' });
      clock.advance(1);
      expect(await present(secret)).toEqual({ kind: 'unauthenticated' });
    });
  });

  describe('the admin token', () => {
    it('is this one, and no other', async () => {
      expect(await isAdmin(deps, adminToken)).toBe(true);
      expect(await isAdmin(deps, `${adminToken}x`)).toBe(false);
      expect(await isAdmin(deps, '')).toBe(false);
    });

    it('may be the one before a rotation while that is accepted', async () => {
      const admin = { sha256s: async () => [sha256Hex('new'), sha256Hex('old')] };
      expect(await Promise.all(['new', 'old', 'other'].map((each) => isAdmin({ admin }, each)))).toEqual([
        true,
        true,
        false,
      ]);
    });

    it('is not asked for if nobody presents one', async () => {
      const admin = {
        sha256s: async () => {
          throw new Error('Nothing is to be asked for.');
        },
      };
      expect(await isAdmin({ admin }, undefined)).toBe(false);
    });
  });

  describe('the use of a token', () => {
    const used = async (tokenId = ofAcme.tokenId) => (await tokens.find(tokenId))?.lastUsedAtMs;

    it('is noted the first time, and again after an hour', async () => {
      await tokens.put(ofAcme);
      const firstMs = clock.nowMs();
      await noteTokenUse(deps, ofAcme);
      expect(await used()).toBe(firstMs);
      clock.advance(tokenUseStepMs - 1);
      await noteTokenUse(deps, { ...ofAcme, lastUsedAtMs: firstMs });
      expect(await used()).toBe(firstMs);
      clock.advance(1);
      await noteTokenUse(deps, { ...ofAcme, lastUsedAtMs: firstMs });
      expect(await used()).toBe(firstMs + tokenUseStepMs);
    });

    it('fails nothing if it cannot be noted', async () => {
      const { log, entries } = recordingLog();
      const error = new Error('The table is down.');
      tokens.noteUse = async () => {
        throw error;
      };
      await noteTokenUse({ ...deps, log }, ofAcme);
      expect(entries).toEqual([
        { level: 'warn', message: 'token use not noted', fields: { tokenId: ofAcme.tokenId, error } },
      ]);
    });
  });
});

describe('create token', () => {
  const grant: TokenGrant = { tenant: 'acme', scope: 'write', label: 'ci' };

  describe('a new token', () => {
    it('is random, and only its hash is stored', async () => {
      const { token, record } = await createToken(deps, grant);
      expect(token).toMatch(/^lfsq_[0-9A-Za-z]{40}$/);
      expect(record).toEqual({
        tokenId: tokenIdOf(token),
        secretSha256: sha256Hex(token),
        ...grant,
        user: null,
        repos: null,
        createdAtMs: clock.nowMs(),
        expiresAtMs: null,
        lastUsedAtMs: null,
      });
      expect(await tokens.find(record.tokenId)).toEqual(record);
      expect((await createToken(deps, grant)).token).not.toBe(token);
    });

    it('is for whom, for which repos and for how long it was asked', async () => {
      const more = { user: 'ann', repos: ['app'], lifetimeMs: 1000 };
      const { record } = await createToken(deps, { ...grant, ...more });
      expect(record).toMatchObject({ user: 'ann', repos: ['app'], expiresAtMs: clock.nowMs() + 1000 });
    });

    it('is not read back', async () => {
      tokens.find = () => Promise.reject(new Error('There is nothing to read.'));
      expect((await createToken(deps, grant)).record).toMatchObject(grant);
    });

    it('never replaces another with the same id', async () => {
      tokens.put = async () => 'exists';
      await expect(createToken(deps, grant)).rejects.toThrow('Two tokens have the same id.');
      tokens.find = async () => tokenRecord('another', { tenant: 'acme' });
      await expect(createToken(deps, grant)).rejects.toThrow('Two tokens have the same id.');
    });
  });

  it('are listed with each parent read once, and without those whose parent is gone', async () => {
    const [parent, child, orphan] = ['parent', 'child', 'orphan'].map((name) =>
      tokenRecord(name, { tenant: 'acme' }),
    ) as [TokenRecord, TokenRecord, TokenRecord];
    await tokens.put(parent);
    await tokens.put({ ...child, parentId: parent.tokenId });
    const asked = vi.spyOn(tokens.table.client, 'send');
    const reads = () => asked.mock.calls.filter(([operation]) => operation === 'BatchGetItem').length;
    expect(await tokens.listPage({ tenant: 'acme', pageSize: 9 })).toMatchObject({ tokens: { length: 2 } });
    expect(reads()).toBe(1);
    await tokens.put({ ...orphan, parentId: '0'.repeat(16) });
    expect(await tokens.listPage({ tenant: 'acme', pageSize: 9 })).toMatchObject({ tokens: { length: 2 } });
    expect(reads()).toBe(3);
  });

  describe('a request for a token, repeated with its key,', () => {
    const once = (more: Partial<TokenGrant> = {}, by: { credential?: string; requestKey?: string } = {}) =>
      createTokenOnce(deps, {
        grant: { ...grant, ...more },
        credential: 'secret',
        requestKey: 'once',
        ...by,
      });

    it('gets the same token', async () => {
      const first = await once();
      expect(first).toMatchObject({ kind: 'created', record: { ...grant, createdAtMs: clock.nowMs() } });
      clock.advance(5000);
      expect(await once()).toEqual(first);
      expect(await tokens.list('acme')).toHaveLength(1);
    });

    it('gets the same token if the first one died before it was stored, as of the time when it began', async () => {
      const put = tokens.put.bind(tokens);
      tokens.put = async () => {
        throw new Error('It dies.');
      };
      const beganMs = clock.nowMs();
      await expect(once()).rejects.toThrow('It dies.');
      tokens.put = put;
      clock.advance(5000);
      expect(await once({})).toMatchObject({ kind: 'created', record: { createdAtMs: beganMs } });
    });

    it('gets the same token if the first one died right after it was stored', async () => {
      const { requestKeys } = deps;
      const finish = requestKeys.finish.bind(requestKeys);
      requestKeys.finish = async () => {
        throw new Error('It dies.');
      };
      await expect(once()).rejects.toThrow('It dies.');
      requestKeys.finish = finish;
      clock.advance(5000);
      const [record] = await tokens.list('acme');
      expect(await once()).toMatchObject({ kind: 'created', record });
      expect(await tokens.list('acme')).toHaveLength(1);
    });

    it('is told once the token was revoked, and does not bring it back', async () => {
      const first = await once();
      if (first.kind !== 'created') throw new Error(first.kind);
      await tokens.delete({ tenant: 'acme', tokenId: first.record.tokenId });
      expect(await once()).toEqual({ kind: 'revoked' });
      expect(await tokens.list('acme')).toEqual([]);
    });

    it('is told that another token has its id by now', async () => {
      const first = await once();
      if (first.kind !== 'created') throw new Error(first.kind);
      await tokens.delete({ tenant: 'acme', tokenId: first.record.tokenId });
      await tokens.put({ ...first.record, secretSha256: 'ab' });
      expect(await once()).toEqual({ kind: 'revoked' });
    });

    it('is refused for another grant', async () => {
      await once();
      expect(await once({ scope: 'manage' })).toEqual({ kind: 'key-reused' });
    });

    it.each([
      ['another key', {}, { requestKey: 'twice' }],
      ['another tenant', { tenant: 'other' }, {}],
      ['another caller', {}, { credential: 'other' }],
    ])('is another request with %s', async (_, more, by) => {
      const tokenOf = (outcome: Awaited<ReturnType<typeof once>>) =>
        outcome.kind === 'created' ? outcome.token : outcome.kind;
      const [first, second] = [tokenOf(await once()), tokenOf(await once(more, by))];
      expect(second).toMatch(/^lfsq_/);
      expect(second).not.toBe(first);
    });
  });
});

describe('a session', () => {
  const clock = new ManualClock();
  let adminToken: string;
  /** The one before a rotation, while it is accepted. */
  let oldAdminToken: string | undefined;
  let token: TokenRecord;
  const deps = () =>
    memoryDeps({
      tokens,
      clock,
      ids: systemIds,
      admin: { sha256s: async () => [adminToken, oldAdminToken ?? []].flat().map(sha256Hex) },
    });
  const begin = async (holder: TokenRecord | undefined = token) =>
    await beginSession(deps(), { token: holder });
  const asOperator = () => beginSession(deps(), { token: undefined });
  const find = (value: string) => findSession(deps(), value);

  beforeEach(async () => {
    adminToken = 'the-first-admin-token';
    oldAdminToken = undefined;
    token = tokenRecord('lfsq_one', { tenant: 'acme' });
    await tokens.put(token);
  });

  it('stands for its token as it is now', async () => {
    const { value, session } = await begin();
    expect(await find(value)).toEqual({ session, token });
    expect(session.parentId).toBe(token.tokenId);
    await tokens.noteUse({ tokenId: token.tokenId, atMs: 5 });
    expect((await find(value))?.token?.lastUsedAtMs).toBe(5);
  });

  it('stands for the operator', async () => {
    const { value, session } = await asOperator();
    expect(await find(value)).toEqual({ session, token: undefined });
  });

  it('is stored without its secret, and without the hash of the admin token', async () => {
    const { value, session } = await asOperator();
    expect(JSON.stringify(session)).not.toContain(value.split('_')[1]);
    expect(JSON.stringify(session)).not.toContain(sha256Hex(adminToken));
  });

  it('is another one each time', async () => {
    const values = await Promise.all([begin(), begin(), asOperator(), asOperator()]);
    expect(new Set(values.map(({ value }) => value)).size).toBe(4);
  });

  it('ends with its token at once, be it revoked or another one of the same id', async () => {
    const { value } = await begin();
    await tokens.delete(token);
    expect(await find(value)).toBeUndefined();
    await tokens.put({ ...token, secretSha256: sha256Hex('another') });
    expect(await find(value)).toBeUndefined();
    await tokens.delete(token);
    await tokens.put(token);
    expect(await find(value)).toBeDefined();
  });

  it('of the operator ends when the admin token is rotated', async () => {
    const { value } = await asOperator();
    adminToken = 'the-second-admin-token';
    expect(await find(value)).toBeUndefined();
    expect(await find((await asOperator()).value)).toBeDefined();
  });

  it('of the operator ends with the older of two admin tokens if it began while both were accepted', async () => {
    const before = await asOperator();
    oldAdminToken = adminToken;
    adminToken = 'the-second-admin-token';
    const { value } = await asOperator();
    expect(await find(value)).toBeDefined();
    expect(await find(before.value)).toBeDefined();
    oldAdminToken = undefined;
    expect(await find(value)).toBeUndefined();
    expect(await find(before.value)).toBeUndefined();
  });

  it('lasts 12 hours', async () => {
    const { value, session } = await begin();
    expect(session.expiresAtMs - session.createdAtMs).toBe(sessionLifetimeMs);
    clock.advance(sessionLifetimeMs - 1);
    expect(await find(value)).toBeDefined();
    clock.advance(1);
    expect(await find(value)).toBeUndefined();
  });

  it('lasts no longer than its token', async () => {
    const brief = tokenRecord('lfsq_brief', { tenant: 'acme', expiresAtMs: clock.nowMs() + 1000 });
    await tokens.put(brief);
    const { value, session } = await begin(brief);
    expect(session.expiresAtMs).toBe(brief.expiresAtMs);
    clock.advance(999);
    expect(await find(value)).toBeDefined();
    clock.advance(1);
    expect(await find(value)).toBeUndefined();
  });

  it('ends with its token even if its own record says otherwise', async () => {
    const brief = tokenRecord('lfsq_brief', { tenant: 'acme', expiresAtMs: clock.nowMs() + 1000 });
    await tokens.put(brief);
    const { value, session } = await begin(brief);
    await tokens.deleteSession(session);
    await tokens.putSession({ ...session, expiresAtMs: session.expiresAtMs + 10_000 });
    clock.advance(1000);
    expect(await find(value)).toBeUndefined();
  });

  it('is not that of another parent, nor found by a part of its secret', async () => {
    const other = tokenRecord('lfsq_other', { tenant: 'other' });
    await tokens.put(other);
    const { value, session } = await begin();
    const secret = value.split('.')[1];
    for (const wrong of [
      `operator.${secret}`,
      `${other.tokenId}.${secret}`,
      `${value}x`,
      value.slice(0, -1),
      '',
    ])
      expect(await find(wrong)).toBeUndefined();
    // Even if somebody moved the record.
    await tokens.putSession({ ...session, parentId: 'operator' });
    await tokens.putSession({ ...session, parentId: other.tokenId });
    expect(await find(`operator.${secret}`)).toBeUndefined();
    expect(await find(`${other.tokenId}.${secret}`)).toBeUndefined();
  });

  it('needs the whole secret, not only one with the same id', async () => {
    const { value, session } = await begin();
    await tokens.deleteSession(session);
    await tokens.putSession({ ...session, secretSha256: sha256Hex('another') });
    expect(await find(value)).toBeUndefined();
  });

  it('ends when somebody signs out, and no other one with it', async () => {
    const [left, stays] = [await begin(), await begin()];
    await endSession(deps(), left);
    expect(await find(left.value)).toBeUndefined();
    expect(await find(stays.value)).toBeDefined();
    await endSession(deps(), left);
  });
});
