import { beforeEach, describe, expect, it } from 'vitest';
import { tokenUseStepMs } from '../../../../../lambda/domain/token.ts';
import { sha256Hex } from '../../../../../lambda/rules/hash.ts';
import {
  authenticateToken,
  findToken,
  grantFor,
  isAdmin,
} from '../../../../../lambda/use-cases/access/authenticate.ts';
import { noteTokenUse } from '../../../../../lambda/use-cases/access/note-token-use.ts';
import { adminToken, ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryTokenStore } from '../../../../support/memory/stores.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const secret = 'lfsq_secret';
const ofAcme = tokenRecord(secret, { tenant: 'acme' });

let clock: ManualClock;
let tokens: MemoryTokenStore;
let deps: ReturnType<typeof memoryDeps>;
beforeEach(() => {
  clock = new ManualClock();
  tokens = new MemoryTokenStore();
  deps = memoryDeps({ clock, tokens });
});

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
