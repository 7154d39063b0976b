import { beforeEach, describe, expect, it } from 'vitest';
import { systemIds } from '../../../../../lambda/aws/system.ts';
import { sessionLifetimeMs } from '../../../../../lambda/domain/session.ts';
import type { TokenRecord } from '../../../../../lambda/domain/token.ts';
import { sha256Hex } from '../../../../../lambda/rules/hash.ts';
import { beginSession, endSession, findSession } from '../../../../../lambda/use-cases/access/session.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryTokenStore } from '../../../../support/memory/stores.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

describe('a session', () => {
  const clock = new ManualClock();
  let tokens: MemoryTokenStore;
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
    tokens = new MemoryTokenStore();
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
