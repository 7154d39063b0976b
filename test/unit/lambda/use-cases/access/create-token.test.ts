import { beforeEach, describe, expect, it } from 'vitest';
import { tokenIdOf } from '../../../../../lambda/domain/token.ts';
import { sha256Hex } from '../../../../../lambda/rules/hash.ts';
import {
  createToken,
  createTokenOnce,
  type TokenGrant,
} from '../../../../../lambda/use-cases/access/create-token.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryTokenStore } from '../../../../support/memory/stores.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const grant: TokenGrant = { tenant: 'acme', scope: 'write', label: 'ci' };

let clock: ManualClock;
let tokens: MemoryTokenStore;
let deps: ReturnType<typeof memoryDeps>;
beforeEach(() => {
  clock = new ManualClock();
  tokens = new MemoryTokenStore();
  deps = memoryDeps({ clock, tokens });
});

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
