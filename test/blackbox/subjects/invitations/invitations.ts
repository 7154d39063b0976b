import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Api,
  basic,
  bearer,
  bodyOf,
  comparable,
  expectProblem,
  expectStatus,
  jsonOf,
  type TestTenant,
} from '../../api.ts';
import { newOid, objectOf, push } from '../../lfs.ts';
import type { Subject } from '../../subject.ts';
import { signIn } from '../../tokens.ts';

const scope = z.enum(['read', 'write', 'manage']);
const invitationShape = z.strictObject({
  invitationId: z.string().regex(/^[0-9a-f]{16}$/),
  scope,
  repos: z.array(z.string()).nullable(),
  user: z.string().nullable(),
  inviter: z.string().nullable(),
  expiresInSeconds: z.number(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});
const linkShape = z.strictObject({
  scope,
  user: z.string().nullable(),
  expiresAt: z.iso.datetime(),
  link: z.string(),
});
const newInvitationShape = invitationShape.extend({ link: z.string() });
const tokenShape = z.strictObject({
  tenant: z.string(),
  token: z.string().regex(/^lfsq_\w{43}$/),
  tokenId: z.string(),
  scope,
  label: z.string().nullable(),
  user: z.string().nullable(),
  repos: z.array(z.string()).nullable(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  lastUsedAt: z.null(),
});
const startedShape = z.strictObject({
  userCode: z.string().regex(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
  token: z.string().regex(/^lfsq_\w{40}$/),
  expiresAt: z.iso.datetime(),
  intervalSeconds: z.number(),
});
const approvedShape = z.strictObject({
  machine: z.string(),
  tokenId: z.string(),
  scope,
  repos: z.array(z.string()).nullable(),
  user: z.string().nullable(),
  expiresAt: z.iso.datetime(),
  address: z.string().nullable(),
});
const sessionShape = z.looseObject({
  tenant: z.string().nullable(),
  scope: scope.nullable(),
  user: z.string().nullable(),
});

const secondsUntil = (time: string) => (Date.parse(time) - Date.now()) / 1000;
const day = 86_400;

/** Links by which people get tokens, and command lines that wait for one. */
function invitationTests(api: () => Api): void {
  const open = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    api().send({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const accept = (secret: string, more: object = {}, key?: string) =>
    open('/v1/invitations/accept', { secret, ...more }, key === undefined ? {} : { 'idempotency-key': key });
  const invitationsOf = (tenant: string) => `/v1/tenants/${tenant}/invitations`;
  const manager = async (tenant: string, more: object = {}) => {
    const { token, tokenId } = await api().newToken(tenant, { scope: 'manage', user: 'grace', ...more });
    return { headers: bearer(token), tokenId };
  };
  const invite = async (tenant: string, headers: Record<string, string>, body: object = {}) => {
    const made = bodyOf(
      await api().as(headers, 'POST', invitationsOf(tenant), body),
      201,
      newInvitationShape,
    );
    const secret = made.link.split('/#_join/')[1] ?? '';
    return { ...made, secret };
  };
  const listed = async (tenant: string) => {
    const shape = z.strictObject({ invitations: z.array(invitationShape) });
    return bodyOf(await api().manage('GET', invitationsOf(tenant)), 200, shape).invitations;
  };

  describe('a console link', () => {
    let own: TestTenant;
    const from = { 'lfs-quota-console': '1' };
    const path = (tenant = own.tenant) => `/v1/tenants/${tenant}/console-links`;
    const create = async (body: object) => {
      const made = bodyOf(await api().manage('POST', path(), body), 201, linkShape);
      return { ...made, secret: made.link.split('/#_open/')[1] ?? '' };
    };
    const enter = (secret: string, headers: Record<string, string> = from) =>
      open('/v1/console-links/open', { secret }, headers);
    beforeAll(async () => {
      own = await api().newTenant();
    });

    it('signs in whoever opens it first, with its scope, in its tenant', async () => {
      const { secret, ...shown } = await create({ scope: 'read', user: 'ada' });
      expect(shown).toMatchObject({ scope: 'read', user: 'ada' });
      expect(secondsUntil(shown.expiresAt)).toBeGreaterThan(290);
      expect(secondsUntil(shown.expiresAt)).toBeLessThanOrEqual(300);
      expect(await listed(own.tenant)).toEqual([]);
      // A page of somebody else can't, and doesn't use it up. Nor does it make a token.
      expectProblem(await enter(secret, {}), 404);
      expectProblem(await enter(secret, { ...from, 'sec-fetch-site': 'cross-site' }), 404);
      expectProblem(await accept(secret), 404);
      const answers = await Promise.all([1, 2, 3, 4].map(() => enter(secret)));
      const [opened, ...others] = answers.sort((a, b) => a.status - b.status);
      if (!opened) throw new Error('nothing was asked');
      expect([opened.status, jsonOf(opened)]).toEqual([200, { tenant: own.tenant }]);
      for (const answer of others) expectProblem(answer, 404, /^The link is wrong, used or expired/);
      const cookie = opened.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      const as = { ...from, cookie };
      const whose = jsonOf(await api().as(as, 'GET', '/v1/session'));
      expect(whose).toMatchObject({ tenant: own.tenant, scope: 'read', user: 'ada' });
      expectStatus(await api().as(as, 'GET', `/v1/tenants/${own.tenant}/subscription`), 200);
      expectProblem(await api().as(as, 'POST', invitationsOf(own.tenant), {}), 403);
      const actions = z.object({ entries: z.array(z.object({ action: z.string(), outcome: z.string() })) });
      const audit = await api().manage('GET', `/v1/tenants/${own.tenant}/audit`);
      for (const action of ['console-link.create', 'console-link.open'])
        expect(bodyOf(audit, 200, actions).entries).toContainEqual({ action, outcome: 'succeeded' });
      expect(audit.text).not.toContain(secret);
      const { tokenId } = z.object({ tokenId: z.string() }).parse(whose);
      expectStatus(await api().manage('DELETE', `/v1/tenants/${own.tenant}/tokens/${tokenId}`), 204);
      expectProblem(await api().as(as, 'GET', '/v1/session'), 401);
    });

    it('is no invitation, and an invitation is none', async () => {
      const { secret } = await invite(own.tenant, (await manager(own.tenant)).headers);
      expectProblem(await enter(secret), 404);
      bodyOf(await accept(secret), 201, tokenShape);
    });

    it('needs a scope, and works for a minute to an hour', async () => {
      for (const body of [{}, { scope: 'admin' }, { scope: 'read', expiresInSeconds: 59 }])
        expectProblem(await api().manage('POST', path(), body), 422);
      expectProblem(await api().manage('POST', path(), { scope: 'read', expiresInSeconds: 3601 }), 422);
      expectProblem(await api().manage('POST', path('absent-tenant'), { scope: 'read' }), 404);
    });

    it('of a suspended tenant opens nothing, and is not used up', async () => {
      const { secret } = await create({ scope: 'manage' });
      const set = (suspended: string | null) =>
        api().manage('PATCH', `/v1/tenants/${own.tenant}`, { suspended });
      expectStatus(await set('all'), 200);
      expectProblem(await enter(secret), 403, /is suspended/);
      expectStatus(await set(null), 200);
      expectStatus(await enter(secret), 200);
    });
  });

  describe('an invitation', () => {
    let own: TestTenant;
    beforeAll(async () => {
      own = await api().newTenant();
    });

    it('is a link that makes a token with which one can push, once', async () => {
      const { tenant } = await api().newTenant();
      const { headers } = await manager(tenant);
      const { secret, link, ...shown } = await invite(tenant, headers, { repos: ['game'], user: 'ada' });
      expect(link).toBe(`${new URL(link).origin}/#_join/${secret}`);
      expect(secret.startsWith(`${tenant}.lfsi_`)).toBe(true);
      expect(shown).toMatchObject({ scope: 'write', repos: ['game'], user: 'ada', inviter: 'grace' });
      expect(secondsUntil(shown.expiresAt) / day).toBeCloseTo(7, 1);
      expect(await listed(tenant)).toEqual([shown]);
      const token = bodyOf(await accept(secret, { user: 'mallory' }), 201, tokenShape);
      expect(token).toMatchObject({ tenant, scope: 'write', repos: ['game'], user: 'ada' });
      expect(secondsUntil(token.expiresAt) / day).toBeCloseTo(90, 1);
      await push(api(), { tenant, readToken: token.token, writeToken: token.token, repo: 'game' }, [
        objectOf(10),
      ]);
      expect(await listed(tenant)).toEqual([]);
      expectProblem(await accept(secret), 404, /^The link is wrong, used, expired or revoked/);
    });

    it('makes no token while its tenant is suspended, and is not used up by that', async () => {
      const { tenant } = await api().newTenant();
      const { secret } = await invite(tenant, (await manager(tenant)).headers);
      const set = (suspended: string | null) => api().manage('PATCH', `/v1/tenants/${tenant}`, { suspended });
      expectStatus(await set('all'), 200);
      expectProblem(await accept(secret), 403, new RegExp(`^${tenant} is suspended`));
      expectProblem(await accept(`${secret.slice(0, -1)}-`), 404);
      expectStatus(await set(null), 200);
      bodyOf(await accept(secret), 201, tokenShape);
    });

    it('makes the same token for the same request, and none for another with the link', async () => {
      const { headers } = await manager(own.tenant);
      const { secret } = await invite(own.tenant, headers);
      const key = newOid();
      const answers = await Promise.all([1, 2, 3].map(() => accept(secret, { user: 'ada' }, key)));
      const tokens = answers.map((answer) => bodyOf(answer, 201, tokenShape));
      expect(new Set(tokens.map(({ token }) => token)).size).toBe(1);
      expect(tokens[0]?.user).toBe('ada');
      expectProblem(await accept(secret, { user: 'ada' }, newOid()), 404);
      expectProblem(await accept(secret, { user: 'ada' }), 404);
      const path = `/v1/tenants/${own.tenant}/tokens/${tokens[0]?.tokenId}`;
      expectStatus(await api().manage('DELETE', path), 204);
      expectProblem(await accept(secret, { user: 'ada' }, key), 404);
    });

    it('of many who accept it at the same time gives one a token', async () => {
      const { headers } = await manager(own.tenant);
      const { secret } = await invite(own.tenant, headers);
      const answers = await Promise.all(Array.from({ length: 8 }, () => accept(secret, {}, newOid())));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 404)).toHaveLength(7);
    });

    it('that is wrong, used, revoked, of a deleted tenant or of a revoked inviter gets the same words', async () => {
      const { headers, tokenId } = await manager(own.tenant);
      const [used, revoked, orphan] = [
        await invite(own.tenant, headers),
        await invite(own.tenant, headers),
        await invite(own.tenant, headers),
      ];
      expectStatus(await accept(used.secret), 201);
      const path = `${invitationsOf(own.tenant)}/${revoked.invitationId}`;
      expectStatus(await api().as(headers, 'DELETE', path), 204);
      expectProblem(await api().as(headers, 'DELETE', path), 404);
      expectProblem(
        await api().as(headers, 'DELETE', `${invitationsOf(own.tenant)}/${used.invitationId}`),
        404,
      );
      expectStatus(await api().manage('DELETE', `/v1/tenants/${own.tenant}/tokens/${tokenId}`), 204);
      const gone = await api().newTenant();
      const ofGone = await invite(gone.tenant, bearer(api().target.adminToken));
      expectStatus(await api().manage('DELETE', `/v1/tenants/${gone.tenant}`), 202);
      const wrong = `${own.tenant}.lfsi_${'0'.repeat(40)}`;
      const refusals = [];
      for (const secret of [
        wrong,
        `absent.lfsi_${'0'.repeat(40)}`,
        used.secret,
        revoked.secret,
        orphan.secret,
        ofGone.secret,
        'x',
        '../../../..',
        orphan.secret.replace(own.tenant, own.tenant.slice(0, -1)),
      ])
        refusals.push(comparable(await accept(secret)));
      for (const refusal of refusals) expect(refusal).toEqual(refusals[0]);
      expect((refusals[0] as { status: number }).status).toBe(404);
    });

    it('never gives more than its inviter has', async () => {
      const { headers } = await manager(own.tenant, { expiresInSeconds: 3600 });
      const { secret } = await invite(own.tenant, headers, { scope: 'manage', expiresInSeconds: 30 * day });
      const token = bodyOf(await accept(secret), 201, tokenShape);
      expect(token.scope).toBe('manage');
      expect(secondsUntil(token.expiresAt)).toBeLessThanOrEqual(3601);
    });

    it('is made in a number that is bounded, and removed when over', async () => {
      const { tenant } = await api().newTenant();
      const { headers } = await manager(tenant);
      const made = await Promise.all(Array.from({ length: 100 }, () => invite(tenant, headers)));
      expect(await listed(tenant)).toHaveLength(100);
      expectProblem(
        await api().as(headers, 'POST', invitationsOf(tenant), {}),
        409,
        /maximum of open invitations/,
      );
      await api().as(headers, 'DELETE', `${invitationsOf(tenant)}/${made[0]?.invitationId}`);
      await invite(tenant, headers);
    });

    it.each<[object, RegExp]>([
      [{ scope: 'admin' }, /^scope/],
      [{ scope: 'manage', repos: ['game'] }, /^repos: can't be set/],
      [{ repos: [] }, /^repos/],
      [{ user: '' }, /^user/],
      [{ expiresInSeconds: 1 }, /^expiresInSeconds/],
      [{ expiresInSeconds: null }, /^expiresInSeconds/],
      [{ days: 1 }, /days/],
    ])('is not made with %j', async (body, detail) => {
      expectProblem(await api().manage('POST', invitationsOf(own.tenant), body), 422, detail);
    });

    it.each<[object, number]>([
      [{}, 422],
      [{ secret: '' }, 422],
      [{ secret: 'x'.repeat(201) }, 422],
      [{ secret: 'x', user: '\u0007' }, 422],
      [{ secret: 'x', more: 1 }, 422],
      [{ secret: 'x', user: 'x'.repeat(5000) }, 413],
    ])('is not accepted with %j', async (body, status) => {
      expectProblem(await open('/v1/invitations/accept', body), status);
    });

    it('is audited: who invited, and who accepted', async () => {
      const { tenant } = await api().newTenant();
      const { headers, tokenId } = await manager(tenant);
      const { secret, invitationId } = await invite(tenant, headers);
      const token = bodyOf(await accept(secret, { user: 'ada' }), 201, tokenShape);
      await accept(secret);
      const { text } = await api().manage('GET', `/v1/tenants/${tenant}/audit`);
      const { entries } = JSON.parse(text) as { entries: Record<string, unknown>[] };
      expect(entries.slice(0, 2)).toMatchObject([
        {
          action: 'invitation.accept',
          by: { kind: 'identity', name: 'ada' },
          target: { invitationId },
          outcome: 'succeeded',
          after: { tokenId: token.tokenId },
        },
        { action: 'invitation.create', by: { kind: 'token', tokenId }, after: { invitationId } },
      ]);
      expect(text).not.toContain(secret.slice(-40));
      expect(text).not.toContain(token.token.slice(-40));
    });
  });

  describe('a command line that waits', () => {
    const start = async (machine = 'ada on laptop') =>
      bodyOf(await open('/v1/device', { machine }), 201, startedShape);
    const approve = (tenant: string, headers: Record<string, string>, body: object, dryRun = false) =>
      api().as(headers, 'POST', `/v1/tenants/${tenant}/device${dryRun ? '?dryRun=true' : ''}`, body);
    const session = (token: string) => api().as(bearer(token), 'GET', '/v1/session');

    it('has a token once a manager has seen and approved it, by a session of the console too', async () => {
      const { tenant } = await api().newTenant();
      const { headers } = await manager(tenant);
      const { userCode, token, intervalSeconds } = await start();
      expect(intervalSeconds).toBeGreaterThan(0);
      expectProblem(await session(token), 401);
      const typed = userCode.toLowerCase().replace('-', ' ');
      const cookie = await signIn(api(), headers);
      const shown = bodyOf(await approve(tenant, cookie, { userCode: typed }, true), 200, approvedShape);
      expect(shown).toMatchObject({ machine: 'ada on laptop', scope: 'write', repos: null, user: 'grace' });
      expect(secondsUntil(shown.expiresAt) / day).toBeCloseTo(90, 1);
      expectProblem(await session(token), 401);
      const approved = bodyOf(
        await approve(tenant, cookie, { userCode, scope: 'read', repos: ['game'], user: 'ada' }),
        200,
        approvedShape,
      );
      expect(approved).toMatchObject({ tokenId: shown.tokenId, scope: 'read', repos: ['game'], user: 'ada' });
      expect(bodyOf(await session(token), 200, sessionShape)).toMatchObject({
        tenant,
        scope: 'read',
        user: 'ada',
      });
      // To look at its link again isn't a wrong code, and it stays as it was approved.
      for (let times = 0; times < 6; times += 1)
        expectProblem(await approve(tenant, headers, { userCode }, times < 5), 404, /already approved: ada/);
      expect(bodyOf(await session(token), 200, sessionShape)).toMatchObject({ scope: 'read', user: 'ada' });
    });

    it('ends after five wrong codes, for the managers of that tenant', async () => {
      const [{ tenant }, other] = [await api().newTenant(), await api().newTenant()];
      const [first, second] = [await manager(tenant), await manager(tenant)];
      const { userCode } = await start();
      const wrong = userCode.replaceAll(/./g, (sign) => (sign === 'B' ? 'C' : sign === '-' ? sign : 'B'));
      for (const code of [wrong, 'x', wrong, '!!!!', wrong])
        expectProblem(await approve(tenant, first.headers, { userCode: code }), 404);
      for (const { headers } of [first, second])
        expectProblem(await approve(tenant, headers, { userCode }, true), 429, /Wait 10 minutes/);
      expectStatus(await approve(other.tenant, bearer(api().target.adminToken), { userCode }), 200);
    });

    it('is approved once, of many who do so at the same time', async () => {
      const { tenant } = await api().newTenant();
      const { userCode } = await start();
      const { headers } = await manager(tenant);
      const answers = await Promise.all([1, 2, 3, 4].map(() => approve(tenant, headers, { userCode })));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    });

    it.each<[object, number]>([
      [{}, 422],
      [{ machine: null }, 422],
      [{ machine: 'x'.repeat(101) }, 422],
      [{ machine: '\u202e' }, 422],
      [{ machine: 'x', more: 1 }, 422],
    ])('is not one with %j', async (body, status) => {
      expectProblem(await open('/v1/device', body), status);
    });

    it('is approved by nobody without a token, or with that of another tenant', async () => {
      const [{ tenant }, other] = [await api().newTenant(), await api().newTenant()];
      const { userCode, token } = await start();
      expectProblem(await approve(tenant, bearer(token), { userCode }), 401);
      expectProblem(await approve(tenant, basic(other.writeToken), { userCode }), 404);
      expect(jsonOf(await session(token))).toMatchObject({ code: 'unauthorized' });
    });

    it('is approved by whoever has a token of the tenant, with their user and rights', async () => {
      const { tenant } = await api().newTenant();
      const own = { scope: 'write', repos: ['game', 'film'], user: 'ada', expiresInSeconds: 3600 };
      const ada = await api().newToken(tenant, own);
      const cookie = await signIn(api(), bearer(ada.token));
      const { userCode, token } = await start();
      const shown = bodyOf(await approve(tenant, cookie, { userCode }, true), 200, approvedShape);
      expect(shown).toMatchObject({ scope: 'write', repos: own.repos, user: 'ada' });
      expect(secondsUntil(shown.expiresAt)).toBeLessThanOrEqual(3601);
      expect(bodyOf(await approve(tenant, cookie, { userCode }), 200, approvedShape)).toEqual(shown);
      expect(bodyOf(await session(token), 200, sessionShape)).toMatchObject({
        tenant,
        scope: 'write',
        repos: own.repos,
        user: 'ada',
        label: 'ada on laptop',
      });
      const { text } = await api().manage('GET', `/v1/tenants/${tenant}/audit`);
      expect((JSON.parse(text) as { entries: object[] }).entries[0]).toMatchObject({
        action: 'device.approve',
        by: { kind: 'token', tokenId: ada.tokenId, name: 'ada' },
        after: { tokenId: shown.tokenId, user: 'ada' },
      });
      // It can't approve others, and ends with the token that approved it.
      const next = await start();
      expectProblem(await approve(tenant, bearer(token), { userCode: next.userCode }), 403, /approved so/);
      expectStatus(await api().manage('DELETE', `/v1/tenants/${tenant}/tokens/${ada.tokenId}`), 204);
      expectProblem(await session(token), 401);
    });

    it.each<[string, object, object, 200 | 403]>([
      ['less: read', { scope: 'write' }, { scope: 'read' }, 200],
      ['less: one of the repos', { scope: 'write', repos: ['game', 'film'] }, { repos: ['film'] }, 200],
      ['its own user by name', { scope: 'write', user: 'ada' }, { user: 'ada' }, 200],
      ['read with read', { scope: 'read' }, {}, 200],
      ['another user', { scope: 'write', user: 'ada' }, { user: 'tina' }, 403],
      ['a user, having none', { scope: 'write' }, { user: 'tina' }, 403],
      ['manage', { scope: 'write' }, { scope: 'manage' }, 403],
      ['write with read', { scope: 'read' }, { scope: 'write' }, 403],
      ['all repos', { scope: 'write', repos: ['game'] }, { repos: null }, 403],
      ['another repo', { scope: 'write', repos: ['game'] }, { repos: ['game', 'film'] }, 403],
      ['any user with manage', { scope: 'manage', user: 'tina' }, { user: 'ada', scope: 'manage' }, 200],
    ])('gets no more than its approver has: %s', async (_what, own, asked, status) => {
      const { tenant } = await api().newTenant();
      const { token } = await api().newToken(tenant, own);
      const { userCode, token: future } = await start();
      for (const isDryRun of [true, false])
        expectStatus(await approve(tenant, bearer(token), { userCode, ...asked }, isDryRun), status);
      expectStatus(await session(future), status === 200 ? 200 : 401);
      const { text } = await api().manage('GET', `/v1/tenants/${tenant}/audit`);
      // Who may not change anything fills no audit.
      expect(text.includes('device.approve')).toBe(status === 200);
    });

    it('shows where it was started', async () => {
      const { tenant } = await api().newTenant();
      const { headers } = await manager(tenant);
      const { userCode } = await start();
      const shown = bodyOf(await approve(tenant, headers, { userCode }, true), 200, approvedShape);
      expect(shown.address).toMatch(/^[\d.]+$|:/);
    });
  });
}

/** All that the suite asks of this subject. */
export const invitationsSubject: Subject = {
  callers: {
    'GET /v1/tenants/{tenant}/invitations': 'manager',
    'POST /v1/tenants/{tenant}/invitations': 'manager',
    'DELETE /v1/tenants/{tenant}/invitations/{invitationId}': 'manager',
    // What each may approve: test/blackbox/invitations.ts.
    'POST /v1/tenants/{tenant}/device': 'reader',
    'POST /v1/invitations/accept': 'all',
    'POST /v1/device': 'all',
    'POST /v1/tenants/{tenant}/console-links': 'operator',
    'POST /v1/console-links/open': 'all',
  },
  tests: invitationTests,
};
