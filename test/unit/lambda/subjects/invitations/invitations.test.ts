import { beforeEach, describe, expect, it } from 'vitest';
import { AuditUnavailableError, LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { signedInMs, type TokenRecord } from '../../../../../lambda/frame/access/rules/tokens.ts';
import { createDynamoDbTokenStore } from '../../../../../lambda/frame/access/token-store.ts';
import { authenticateToken, createToken } from '../../../../../lambda/frame/access/tokens.ts';
import { systemIds } from '../../../../../lambda/frame/aws/clock-and-ids.ts';
import { createDynamoDbDevices } from '../../../../../lambda/subjects/invitations/device-store.ts';
import { createDynamoDbInvitations } from '../../../../../lambda/subjects/invitations/invitation-store.ts';
import {
  acceptInvitation,
  approveDevice,
  deviceGrant,
  findDevice,
  invite,
  startDevice,
} from '../../../../../lambda/subjects/invitations/routes.ts';
import {
  isWithin,
  parseUserCode,
  userCodeFrom,
} from '../../../../../lambda/subjects/invitations/rules/invitations.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryAuditLog, MemoryRequestKeys, storeClass } from '../../../../support/memory/stores.ts';

class MemoryDevices extends storeClass(createDynamoDbDevices) {}

class MemoryInvitations extends storeClass(createDynamoDbInvitations) {}

class MemoryTokens extends storeClass((table) =>
  createDynamoDbTokenStore(table, [async () => isVouchedFor]),
) {}

const tenant = 'acme';
const minute = 60_000;
const day = 24 * 60 * minute;

/** Whether whoever let somebody in by a git host still vouches for them. */
let isVouchedFor = true;
/** Of the token of somebody who was let in so. */
const signedIn = {
  hostUser: { id: 'github:1', login: 'grace' },
  allowedBy: { organizationId: '42', role: 'owner', sinceMs: 1 },
} as const;

const fresh = () => ({
  ledger: new MemoryLedger(),
  invitations: new MemoryInvitations(),
  devices: new MemoryDevices(),
  tokens: new MemoryTokens(),
  requestKeys: new MemoryRequestKeys(),
  audit: new MemoryAuditLog(),
  clock: new ManualClock(),
  ids: systemIds,
});
let stores = fresh();
const deps = () => memoryDeps(stores);
let requests = 0;

beforeEach(async () => {
  stores = fresh();
  isVouchedFor = true;
  await stores.ledger.createTenant(newTenant(tenant));
});

const invited = (more: object = {}) => ({
  tenant,
  scope: 'write' as const,
  repos: null,
  user: null,
  lifetimeMs: 90 * day,
  token: undefined,
  ...more,
});

async function secretOf(more: object = {}): Promise<string> {
  const outcome = await invite(deps(), invited(more));
  if (outcome.kind !== 'created') throw new Error(outcome.kind);
  return outcome.secret;
}

const accept = (secret: string, requestKey: string | undefined = 'key', of: object = {}) => {
  requests += 1;
  return acceptInvitation(
    { ...deps(), ...of },
    { secret, requestKey, user: 'ada', requestId: `r${requests}` },
  );
};

const tokenOf = async (answer: ReturnType<typeof accept>) => {
  const outcome = await answer;
  return outcome.kind === 'created' ? outcome.token : outcome.reason;
};

/** A store that fails at one of its methods. */
const failing = <T extends object>(store: T, method: keyof T): T =>
  Object.assign(Object.create(store), {
    [method]: async () => {
      throw new LedgerUnavailableError('down');
    },
  });

describe('an invitation', () => {
  it('ends after seven days', async () => {
    const [early, late] = [await secretOf(), await secretOf()];
    stores.clock.advance(7 * day - 1);
    expect(await tokenOf(accept(early))).toMatch(/^lfsq_/);
    stores.clock.advance(1);
    expect(await tokenOf(accept(late))).toBe('expired');
  });

  it('answers the same request for ten minutes, whatever happened in between', async () => {
    const secret = await secretOf();
    const token = await tokenOf(accept(secret));
    stores.clock.advance(10 * minute - 1);
    expect(await tokenOf(accept(secret))).toBe(token);
    expect(await tokenOf(accept(secret, 'another key'))).toBe('used');
    expect(stores.audit.entries).toHaveLength(1);
    stores.clock.advance(1);
    expect(await tokenOf(accept(secret))).toBe('used');
  });

  it.each([
    ['the key is claimed', { requestKeys: () => failing(stores.requestKeys, 'begin') }],
    ['the token is stored', { tokens: () => failing(stores.tokens, 'put') }],
    ['the key is done', { requestKeys: () => failing(stores.requestKeys, 'finish') }],
  ])('that breaks before %s makes its one token when the request is repeated', async (_when, broken) => {
    const secret = await secretOf();
    const of = Object.fromEntries(Object.entries(broken).map(([name, make]) => [name, make()]));
    await expect(accept(secret, 'key', of)).rejects.toThrow(LedgerUnavailableError);
    expect(await tokenOf(accept(secret, 'a thief'))).toBe('used');
    stores.clock.advance(minute);
    expect(await tokenOf(accept(secret))).toMatch(/^lfsq_/);
    expect(await stores.tokens.list(tenant)).toHaveLength(1);
  });

  it('stays open if its acceptance cannot be audited', async () => {
    const secret = await secretOf();
    const audit = failing(stores.audit, 'begin');
    await expect(accept(secret, 'key', { audit })).rejects.toThrow(AuditUnavailableError);
    expect(await stores.tokens.list(tenant)).toEqual([]);
    expect(await tokenOf(accept(secret, 'another key'))).toMatch(/^lfsq_/);
  });

  it('makes no second token after its token was revoked', async () => {
    const secret = await secretOf();
    await accept(secret);
    const [{ tokenId } = { tokenId: '' }] = await stores.tokens.list(tenant);
    await stores.tokens.delete({ tenant, tokenId });
    expect(await tokenOf(accept(secret))).toBe('the token: revoked');
  });

  it.each(['revoked', 'expired'])('is worth nothing once its inviter’s token is %s', async (how) => {
    const { record } = await createToken(deps(), { tenant, scope: 'manage', label: null, lifetimeMs: day });
    const secret = await secretOf({ token: record });
    if (how === 'revoked') await stores.tokens.delete(record);
    else stores.clock.advance(day);
    expect(await tokenOf(accept(secret))).toMatch(/^the inviter/);
    expect(stores.audit.entries).toEqual([]);
  });

  it('makes a token that ends with the inviter’s, if that is sooner', async () => {
    const { record } = await createToken(deps(), {
      tenant,
      scope: 'manage',
      label: null,
      lifetimeMs: 9 * day,
    });
    const secret = await secretOf({ token: record });
    stores.clock.advance(day);
    await accept(secret);
    const made = (await stores.tokens.list(tenant)).find(({ user }) => user === 'ada');
    expect(made?.expiresAtMs).toBe(record.expiresAtMs);
  });

  /** Somebody who signs in with a git host: what the table has of them. */
  const signIn = async (more: Partial<TokenRecord> = {}): Promise<TokenRecord> => {
    const createdAtMs = stores.clock.nowMs();
    const { record } = await createToken(deps(), { tenant, scope: 'manage', label: null });
    await stores.tokens.delete(record);
    const of = { ...signedIn, createdAtMs, expiresAtMs: createdAtMs + signedInMs };
    const user = { ...record, tokenId: 'f'.repeat(16), ...of, ...more };
    await stores.tokens.putUser(user);
    return user;
  };

  it('of somebody who signed in with a git host outlives that, and its token too', async () => {
    const secret = await secretOf({ token: await signIn() });
    stores.clock.advance(7 * day - 1);
    expect(await tokenOf(accept(secret))).toMatch(/^lfsq_/);
    const [made] = (await stores.tokens.list(tenant)).filter(({ user }) => user === 'ada');
    expect((made?.expiresAtMs ?? 0) - (made?.createdAtMs ?? 0)).toBe(90 * day);
  });

  it('of somebody who was ended is worth nothing, even if it was made at that moment', async () => {
    const user = await signIn();
    await stores.invitations.deleteOf({ tenant, inviterId: user.tokenId });
    const secret = await secretOf({ token: user });
    await stores.tokens.delete(user);
    expect(await tokenOf(accept(secret))).toBe('the inviter no longer manages the tenant');
    expect(stores.audit.entries).toEqual([]);
  });

  it.each([
    [
      'organization vouches no more',
      async () => {
        isVouchedFor = false;
      },
    ],
    ['next sign-in gives them less', () => signIn({ scope: 'read' })],
  ])('is worth nothing once its inviter’s %s', async (_how, end) => {
    const secret = await secretOf({ token: await signIn() });
    await end();
    expect(await tokenOf(accept(secret))).toBe('the inviter no longer manages the tenant');
    expect(stores.audit.entries).toEqual([]);
  });

  it('that is made up costs one read, or none', async () => {
    const reads: string[] = [];
    const find = async ({ tenant: of }: { tenant: string }) => {
      reads.push(of);
      return undefined;
    };
    const invitations = Object.assign(Object.create(stores.invitations), { find });
    for (const secret of [`acme.lfsi_${'0'.repeat(40)}`, 'acme', `v1.lfsi_${'0'.repeat(40)}`, 'a.b.c'])
      expect(await tokenOf(accept(secret, 'key', { invitations }))).toBe('unknown');
    expect(reads).toEqual(['acme']);
  });

  it('that is over makes space for another', async () => {
    for (let count = 0; count < 100; count += 1) await secretOf();
    expect(await invite(deps(), invited())).toEqual({ kind: 'full' });
    const [record] = await stores.invitations.list(tenant);
    expect(record && (await stores.invitations.put({ ...record, invitationId: 'f'.repeat(16) }))).toBe(
      'full',
    );
    stores.clock.advance(7 * day);
    await secretOf();
    expect(await stores.invitations.list(tenant)).toHaveLength(1);
  });
});

describe('a command line', () => {
  const start = async () => {
    const outcome = await startDevice(deps(), { machine: 'ada on laptop', address: '192.0.2.1' });
    if (outcome.kind !== 'started') throw new Error(outcome.kind);
    return outcome;
  };
  const find = (typed: string) => findDevice(deps(), { by: tenant, typed });

  it('waits for ten minutes', async () => {
    const { userCode, expiresAtMs } = await start();
    expect(expiresAtMs - stores.clock.nowMs()).toBe(10 * minute);
    stores.clock.advance(10 * minute - 1);
    expect((await find(userCode)).kind).toBe('found');
    stores.clock.advance(1);
    expect((await find(userCode)).kind).toBe('absent');
  });

  it('has a token of its approval for 90 days, and no other approval changes it', async () => {
    const { userCode, secret } = await start();
    const found = await find(userCode);
    if (found.kind !== 'found') throw new Error(found.kind);
    const { device } = found;
    const token = deviceGrant(deps(), { device, tenant, scope: 'read', repos: null, user: 'ada' });
    expect(await authenticateToken(deps(), { tenant, credential: secret })).toEqual({
      kind: 'unauthenticated',
    });
    expect(await approveDevice(deps(), { device, token })).toBe('approved');
    expect(await approveDevice(deps(), { device, token: { ...token, scope: 'manage' } })).toBe('absent');
    const granted = await authenticateToken(deps(), { tenant, credential: secret });
    expect(granted).toMatchObject({ kind: 'granted', token: { scope: 'read', label: 'ada on laptop' } });
    stores.clock.advance(90 * day);
    expect(await authenticateToken(deps(), { tenant, credential: secret })).toEqual({
      kind: 'unauthenticated',
    });
  });

  it('is looked for with five wrong codes in ten minutes, however many right ones are between them', async () => {
    const { userCode } = await start();
    for (let count = 0; count < 4; count += 1) {
      expect((await find('wrong')).kind).toBe('absent');
      for (let right = 0; right < 3; right += 1) expect((await find(userCode)).kind).toBe('found');
    }
    expect((await find('wrong')).kind).toBe('absent');
    stores.clock.advance(10 * minute - 1);
    expect((await find(userCode)).kind).toBe('too-many-tries');
    stores.clock.advance(1);
    expect((await find('wrong')).kind).toBe('absent');
  });

  it('counts no try of whoever approved it, and one of everybody else', async () => {
    const { userCode } = await start();
    const found = await find(userCode);
    if (found.kind !== 'found') throw new Error(found.kind);
    const { device } = found;
    const token = deviceGrant(deps(), { device, tenant, scope: 'read', repos: null, user: 'ada' });
    await approveDevice(deps(), { device, token });
    for (let times = 0; times < 9; times += 1) expect((await find(userCode)).kind).toBe('approved');
    const other = () => findDevice(deps(), { by: 'other', typed: userCode });
    for (let times = 0; times < 5; times += 1) expect((await other()).kind).toBe('absent');
    expect((await other()).kind).toBe('too-many-tries');
    await stores.tokens.delete({ tenant, tokenId: device.tokenId });
    expect((await find(userCode)).kind).toBe('approved');
    stores.clock.advance(10 * minute);
    expect((await find(userCode)).kind).toBe('absent');
  });

  it('takes another code if its slot is taken, and is refused if all are', async () => {
    const sure = { random: (length: number) => 'BCDFGHJK'.repeat(length).slice(0, length) };
    const at = (ids: object) => startDevice({ ...deps(), ...ids }, { machine: 'x', address: '192.0.2.2' });
    expect((await at({ ids: sure })).kind).toBe('started');
    expect((await at({ ids: sure })).kind).toBe('full');
    expect((await start()).userCode).not.toBe('BCDF-GHJK');
    stores.clock.advance(10 * minute);
    expect((await at({ ids: sure })).kind).toBe('started');
  });

  it('waits beside up to 100 others of its address, so that no address takes the place of all', async () => {
    const from = async (address: string) => (await startDevice(deps(), { machine: 'x', address })).kind;
    for (let count = 0; count < 100; count += 1) expect(await from('192.0.2.1')).toBe('started');
    expect(await from('192.0.2.1')).toBe('full');
    expect(await from('192.0.2.2')).toBe('started');
    stores.clock.advance(10 * minute);
    expect(await from('192.0.2.1')).toBe('started');
  });

  describe('that somebody approves who does not manage the tenant', () => {
    const parentOf = async (more: Partial<TokenRecord> = {}) => {
      const { record } = await createToken(deps(), { tenant, scope: 'write', label: null, user: 'ada' });
      return { ...record, ...more };
    };
    const approve = async (parent: TokenRecord) => {
      const { userCode, secret } = await start();
      const found = await find(userCode);
      if (found.kind !== 'found') throw new Error(found.kind);
      const { scope, repos, user } = parent;
      const token = deviceGrant(deps(), { device: found.device, tenant, scope, repos, user, parent });
      return { outcome: await approveDevice(deps(), { device: found.device, token }), secret };
    };
    const kindOf = async (credential: string) =>
      (await authenticateToken(deps(), { tenant, credential })).kind;

    it('is worth nothing once the token of the approval is revoked', async () => {
      const parent = await parentOf();
      const { secret } = await approve(parent);
      expect(await kindOf(secret)).toBe('granted');
      await stores.tokens.delete({ tenant, tokenId: parent.tokenId });
      expect(await kindOf(secret)).toBe('unauthenticated');
    });

    it.each([
      ['never', null, 90 * day],
      ['later', 200 * day, 90 * day],
      ['sooner', day, day],
    ])('ends after 90 days, or with that token: %s', async (_what, lifetimeMs, expectedMs) => {
      const expiresAtMs = lifetimeMs === null ? null : stores.clock.nowMs() + lifetimeMs;
      const { secret } = await approve(await parentOf({ expiresAtMs }));
      stores.clock.advance(expectedMs - 1);
      expect(await kindOf(secret)).toBe('granted');
      stores.clock.advance(1);
      expect(await kindOf(secret)).toBe('unauthenticated');
    });

    it('is one of up to 20 within 90 days', async () => {
      const parent = await parentOf();
      for (let count = 0; count < 20; count += 1) expect((await approve(parent)).outcome).toBe('approved');
      const { outcome, secret } = await approve(parent);
      expect([outcome, await kindOf(secret)]).toEqual(['too-many', 'unauthenticated']);
      expect((await approve(await parentOf())).outcome).toBe('approved');
      stores.clock.advance(90 * day);
      expect((await approve(parent)).outcome).toBe('approved');
    });
  });

  it.each<[string, Partial<TokenRecord>, Partial<TokenRecord>, boolean]>([
    ['the same', {}, {}, true],
    ['less', {}, { scope: 'read', repos: ['game'] }, true],
    ['a larger scope', {}, { scope: 'manage' }, false],
    ['a larger scope than read', { scope: 'read' }, { scope: 'write' }, false],
    ['the same repos', { repos: ['game', 'film'] }, { repos: ['film', 'game'] }, true],
    ['one of the repos', { repos: ['game', 'film'] }, { repos: ['film'] }, true],
    ['another repo', { repos: ['game'] }, { repos: ['game', 'film'] }, false],
    ['all repos of some', { repos: ['game'] }, { repos: null }, false],
    ['another user', {}, { user: 'tina' }, false],
    ['no user of one', {}, { user: null }, false],
    ['a user of none', { user: null }, { user: 'ada' }, false],
    ['none of none', { user: null }, { user: null }, true],
  ])('can have %s as its own rights', (_what, own, asked, expected) => {
    const usual = { scope: 'write', repos: null, user: 'ada' } as const;
    expect(isWithin({ ...usual, ...own }, { ...usual, ...asked })).toBe(expected);
  });

  it('has a code that is read as people type it', () => {
    expect(userCodeFrom('abcBCD019FGHJaeiouKLMN')).toBe('BCDF-GHJK');
    expect(userCodeFrom('abcBCD019')).toBeUndefined();
    for (const typed of ['BCDF-GHJK', 'bcdfghjk', ' b c d f g h j k '])
      expect(parseUserCode(typed)).toBe('BCDF-GHJK');
    for (const typed of ['', 'BCDF-GHJ', 'BCDF-GHJA', 'BCDF-GHJKL', 'BCDF_GHJK'])
      expect(parseUserCode(typed)).toBeUndefined();
  });
});
