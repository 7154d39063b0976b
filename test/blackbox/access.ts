import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { contract } from '../../lambda/contract.ts';
import type { RouteContract } from '../../lambda/frame/contract/contract.ts';
import { routes } from '../../lambda/routes.ts';
import {
  type Answer,
  type Api,
  basic,
  bearer,
  comparable,
  expectLfsError,
  expectProblem,
  expectStatus,
  newName,
  type TestTenant,
} from './api.ts';
import { batchPath, lfsHeaders, lfsType, newOid, objectOf, objectsIn, push, serves } from './lfs.ts';
import type { Caller, Subject } from './subject.ts';
import * as subjects from './subjects.ts';
import { signIn } from './tokens.ts';

const unknownToken = `lfsq_${'0'.repeat(40)}`;
/** A token that nobody has, and that nobody has tried before. */
const anotherUnknownToken = () => `lfsq_${randomBytes(20).toString('hex')}`;

/** Authorization headers that identify nobody. */
const badCredentials: Readonly<Record<string, Record<string, string>>> = {
  none: {},
  'an empty header': { authorization: '' },
  'a token that nobody has': bearer(unknownToken),
  'such a token as a password': basic(anotherUnknownToken()),
  'an empty password': basic(''),
  'Basic without a colon': { authorization: `Basic ${Buffer.from('any').toString('base64')}` },
  'Basic that is no base64': { authorization: 'Basic ***' },
  'another scheme': { authorization: 'Digest username="any"' },
  'no scheme': { authorization: unknownToken },
  'a scheme without credentials': { authorization: 'Bearer' },
  'two tokens': { authorization: `Bearer ${unknownToken} ${unknownToken}` },
  'a very long token': bearer('x'.repeat(7000)),
  'bytes beyond ASCII': { authorization: 'Bearer \u00e9\u00ff' },
};

const cases = Object.entries(badCredentials);

/** Who may ask, and what the others are told. */
export function accessTests(api: () => Api): void {
  scopeTests(api);
  let own: TestTenant;
  let other: TestTenant;
  beforeAll(async () => {
    [own, other] = [await api().newTenant(), await api().newTenant()];
  });

  const download = () => ({ operation: 'download', objects: [{ oid: newOid(), size: 1 }] });
  const post = (path: string, headers: Record<string, string>, body: object): Promise<Answer> =>
    api().send({
      method: 'POST',
      path,
      headers: { ...lfsHeaders, ...headers },
      body: JSON.stringify(body),
    });
  const lfs = ({ tenant }: { tenant: string }, headers: Record<string, string>) =>
    post(batchPath({ tenant, repo: 'game' }), headers, download());
  const verify = (tenant: string, headers: Record<string, string>) =>
    post(`/${tenant}/game/info/lfs/verify`, headers, { oid: newOid(), size: 1 });
  describe('access to the LFS routes', () => {
    it.each(cases)('is refused with a 401 that makes a client ask: %s', async (_name, headers) => {
      const { tenant } = own;
      expectLfsError(await lfs({ tenant }, headers), 401, /token/);
      expectLfsError(await verify(tenant, headers), 401, /token/);
    });

    it('tells nobody without a token whether a tenant exists', async () => {
      const { tenant } = own;
      for (const headers of [{}, bearer(anotherUnknownToken())]) {
        const [present, absent] = [await lfs({ tenant }, headers), await lfs({ tenant: newName() }, headers)];
        expect(comparable(absent)).toEqual(comparable(present));
      }
    });

    it('ends with a 403 when a client keeps sending the same bad token', async () => {
      const [tenant, token] = [own.tenant, anotherUnknownToken()];
      const answers = [];
      for (let times = 0; times < 12; times += 1) answers.push(await lfs({ tenant }, basic(token)));
      expectLfsError(answers.at(0) as Answer, 401);
      expectLfsError(answers.at(-1) as Answer, 403, /invalid, expired or revoked/);
      expectLfsError(await lfs({ tenant }, basic(anotherUnknownToken())), 401);
    });

    it('is the same with Basic under any user name, and with Bearer', async () => {
      const { tenant, readToken } = own;
      const ways = [
        ...['any', '', 'jane@example.org', tenant, 'ü', 'x'.repeat(1000)].map((user) =>
          basic(readToken, user),
        ),
        bearer(readToken),
        { authorization: `bearer  ${readToken} ` },
        { authorization: basic(readToken).authorization.replace('Basic', 'BASIC') },
      ];
      for (const headers of ways) objectsIn(await lfs({ tenant }, headers));
    });

    it('of another tenant looks like one to a tenant that is absent', async () => {
      for (const token of [own.readToken, own.writeToken]) {
        const foreign = await lfs(other, basic(token));
        expectLfsError(foreign, 404);
        for (const tenant of [newName(), 'UPPER', 'v1', 'x'.repeat(41), '%2e%2e']) {
          expect(comparable(await lfs({ tenant }, basic(token)))).toEqual(comparable(foreign));
        }
      }
    });

    it('is no matter of the operator’s token', async () => {
      const { tenant } = own;
      // Other tests may have sent it often, just before.
      expectTold(await lfs({ tenant }, basic(api().target.adminToken)), 'operator', 401);
    });
  });

  describe('access to the management API', () => {
    const get = (path: string, headers: Record<string, string>) => api().as(headers, 'GET', path);

    it.each(cases)('is refused with a 401: %s', async (_name, headers) => {
      const at = `/v1/tenants/${own.tenant}`;
      for (const path of ['/v1/tenants', at, `${at}/tokens`, `${at}/subscription`])
        expectProblem(await get(path, headers), 401, /token/);
    });

    it('is the operator’s, by Basic too; a tenant’s token is told which one is needed', async () => {
      const headers = bearer(own.writeToken);
      expectProblem(await get('/v1/tenants', headers), 401, /admin token/);
      const tokens = await get(`/v1/tenants/${own.tenant}/tokens`, headers);
      expectProblem(tokens, 403, /admin token, or a token of .* with the manage scope/);
      expectStatus(await get('/v1/tenants', basic(api().target.adminToken, 'operator')), 200);
    });
  });
}

/** What is no subject's. */
const ownCallers: Readonly<Record<string, Caller>> = {
  'GET /': 'all',
  'GET /assets/{file}': 'all',
  'GET /sign-in/{host}': 'all',
  'GET /health': 'all',
  'GET /openapi.json': 'all',
  'POST /{tenant}/{repo}/info/lfs/objects/batch': 'git',
  'POST /{tenant}/{repo}/info/lfs/verify': 'verify',
  'GET /v1/tenants/{tenant}/subscription': 'reader',
  'GET /v1/session': 'anybody',
  'POST /v1/session': 'holder',
  'DELETE /v1/session': 'session',
  'GET /v1/tenants': 'operator',
  'POST /v1/tenants': 'operator',
  'GET /v1/lost-tenants': 'operator',
  'GET /v1/tenants/{tenant}': 'operator',
  'PATCH /v1/tenants/{tenant}': 'operator',
  'DELETE /v1/tenants/{tenant}': 'operator',
  'GET /v1/tenants/{tenant}/tokens': 'manager',
  'POST /v1/tenants/{tenant}/tokens': 'manager',
  'GET /v1/tenants/{tenant}/tokens/{tokenId}': 'manager',
  'DELETE /v1/tenants/{tenant}/tokens/{tokenId}': 'manager',
  'GET /v1/tenants/{tenant}/reservations': 'reader',
  'POST /v1/tenants/{tenant}/reconcile': 'manager',
  'GET /v1/tenants/{tenant}/scans': 'reader',
  'PATCH /v1/tenants/{tenant}/repos/{repo}/scan': 'manager',
  'GET /v1/tenants/{tenant}/audit': 'manager',
  'GET /v1/tenants/{tenant}/objects': 'reader',
  'GET /v1/tenants/{tenant}/deletions': 'reader',
  'GET /v1/tenants/{tenant}/repos': 'reader',
  'POST /v1/tenants/{tenant}/repos': 'manager',
  'GET /v1/tenants/{tenant}/repos/{repo}': 'reader',
  'PATCH /v1/tenants/{tenant}/repos/{repo}': 'manager',
  'DELETE /v1/tenants/{tenant}/repos/{repo}': 'manager',
  'DELETE /v1/tenants/{tenant}/reservations': 'operator',
  'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}': 'manager',
  'POST /v1/tenants/{tenant}/repos/{repo}/objects/{oid}/keep': 'writer',
};

const callers: Readonly<Record<string, Caller>> = Object.assign(
  {},
  ownCallers,
  ...Object.values(subjects).map((subject) => subject.callers),
);

const credentials = [
  'none',
  'unknown',
  'operator',
  'read',
  'write',
  'manage',
  'one repo',
  // For files whose names start with something.
  'prefix',
  'foreign',
  // Sessions of the console.
  'session: operator',
  'session: read',
  'session: manage',
  'session: foreign',
  // The cookie alone, as a page of somebody else would have it sent.
  'cookie: manage',
  // Of a git host, who may push to what the repo is linked to.
  'person',
  'gc',
] as const;
type Credential = (typeof credentials)[number];

const everybody = rowOf();

/** What each caller is told. `in`: let in, whatever comes of the request. */
const table: Readonly<Record<Caller, Readonly<Record<Credential, 'in' | number>>>> = {
  all: everybody,
  git: rowOf(401, 401, 401, 'in', 'in', 'in', 'in', 403, 404, 401, 401, 401, 401, 401, 'in', 'in'),
  // A 404 would make a clone never look for locks again.
  locks: rowOf(401, 401, 401, 'in', 'in', 'in', 'in', 403, 403, 401, 401, 401, 401, 401, 'in', 'in'),
  verify: rowOf(401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401),
  chunks: rowOf(404, 404, 404, 404, 404, 404, 404, 404, 404, 404, 404, 404, 404, 404, 404, 404),
  // A token is no identity. A body without one is refused before anything is looked at.
  identity: everybody,
  // A session makes no other one.
  holder: rowOf(401, 401, 'in', 'in', 'in', 'in', 'in', 403, 'in', 401, 401, 401, 401, 401, 401, 'in'),
  anybody: rowOf(401, 401, 'in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 'in', 401, 401, 'in'),
  session: rowOf(401, 401, 401, 401, 401, 401, 401, 401, 401, 'in', 'in', 'in', 'in', 401, 401, 401),
  reader: rowOf(401, 401, 'in', 'in', 'in', 'in', 'in', 403, 404, 'in', 'in', 'in', 404, 401, 401, 'in'),
  writer: rowOf(401, 401, 'in', 403, 'in', 'in', 'in', 403, 404, 'in', 403, 'in', 404, 401, 401, 'in'),
  collector: rowOf(401, 401, 'in', 403, 403, 'in', 403, 403, 404, 'in', 403, 'in', 404, 401, 401, 'in'),
  manager: rowOf(401, 401, 'in', 403, 403, 'in', 403, 403, 404, 'in', 403, 'in', 404, 401, 401, 403),
  operator: rowOf(401, 401, 'in', 401, 401, 401, 401, 401, 401, 'in', 401, 401, 401, 401, 401, 401),
};

function rowOf(...cells: ('in' | number)[]): Record<Credential, 'in' | number> {
  return Object.fromEntries(credentials.map((name, index) => [name, cells[index] ?? 'in'])) as Record<
    Credential,
    'in' | number
  >;
}

const contracts: Readonly<Record<string, RouteContract>> = contract;
const keepsToPrefix = ({ method, path }: { method: string; path: string }) =>
  contracts[`${method} ${path}`]?.keepsToPrefix === true;

/** What follows the tenant's path. */
const readersLists = Object.values<Subject>(subjects).flatMap(({ lists = [], callers }) =>
  lists.filter((list) => callers[`GET /v1/tenants/{tenant}/${list}`] === 'reader'),
);

/** Each route with each kind of credentials, cell by cell; and what a token for one repo can learn of another. */
function scopeTests(api: () => Api): void {
  describe('the scopes', () => {
    const held = {} as Record<Credential, Record<string, string>>;
    let tenant: string;
    const stored = { game: objectOf(10), film: objectOf(20) };

    beforeAll(async () => {
      const own = await api().newTenant();
      const foreign = await api().newTenant();
      ({ tenant } = own);
      for (const [repo, object] of Object.entries(stored)) await push(api(), { ...own, repo }, [object]);
      await push(api(), { ...own, repo: 'open' }, [objectOf(30)]);
      if (serves('downloads'))
        expectStatus(
          await api().manage('PATCH', `/v1/tenants/${tenant}/repos/open`, {
            publicRead: { monthlyLimitBytes: 1_000_000 },
          }),
          200,
        );
      const made = async (of: string, body: object) => basic((await api().newToken(of, body)).token);
      held.none = {};
      held.operator = bearer(api().target.adminToken);
      held.read = await made(tenant, { scope: 'read' });
      held.write = await made(tenant, { scope: 'write' });
      held.manage = await made(tenant, { scope: 'manage' });
      held['one repo'] = await made(tenant, { scope: 'write', repos: ['game'] });
      held.prefix = await made(tenant, { scope: 'write', prefix: 'users/7/' });
      held.gc = await made(tenant, { scope: 'gc' });
      held.foreign = await made(foreign.tenant, { scope: 'manage' });
      for (const who of ['operator', 'read', 'manage', 'foreign'] as const)
        held[`session: ${who}`] = await signIn(api(), held[who]);
      const { cookie = '' } = held['session: manage'];
      held['cookie: manage'] = { cookie };
      const { gitHost } = api().target;
      const token = `forge-token-${newOid()}`;
      gitHost?.person({ id: 501, login: 'ada', token });
      gitHost?.repository(`${tenant}/game`, { id: 601, people: { ada: 'write' } });
      held.person = basic(token);
      if (!gitHost || !serves('hosts')) return;
      expectStatus(
        await api().manage('PATCH', `/v1/tenants/${tenant}/repos/game`, {
          gitHost: { host: 'forge', repo: `${tenant}/game` },
        }),
        200,
      );
    });

    const shownCredentials = () =>
      credentials.filter(
        (who) => who !== 'person' || (api().target.gitHost !== undefined && serves('hosts')),
      );

    /** A request that changes nothing, whoever may make it. */
    function ask(
      route: { method: string; path: string },
      of: { tenant: string; repo?: string },
      who: Credential,
    ) {
      const { repo = 'game' } = of;
      const names: Record<string, string> = { tenant: of.tenant, repo, oid: newOid() };
      const path = route.path.replaceAll(
        /\{(\w+)\}/g,
        (_, name: string) =>
          names[name] ?? '0'.repeat(name === 'exportId' ? 24 : name === 'upload' ? 32 : 16),
      );
      const isLfs = path.includes('/info/lfs/');
      const query =
        route.method === 'DELETE' && /\/v1\/tenants\/[^/]+(\/repos.*)?$/.test(path) ? '?dryRun=true' : '';
      // No operation takes this body, or it changes nothing.
      const object = { oid: newOid(), size: 1 };
      const isVerify = path.endsWith('/lfs/verify');
      const body = isVerify ? object : isLfs ? { operation: 'download', objects: [object] } : { nothing: 1 };
      const type = isLfs ? lfsHeaders : { 'content-type': 'application/json' };
      return api().send({
        method: route.method,
        path: path + query,
        headers: { ...type, ...(who === 'unknown' ? bearer(`lfsq_${newOid()}`) : held[who]) },
        ...(['POST', 'PATCH'].includes(route.method) && { body: JSON.stringify(body) }),
      });
    }

    it('say of each route who may call it', () => {
      const known = routes.map(({ method, path }) => `${method} ${path}`);
      expect(Object.keys(callers).sort()).toEqual(known.sort());
    });

    it.each(routes)('of $method $path let in whom they should, and nobody else', async (route) => {
      const expected = table[callers[`${route.method} ${route.path}`] as Caller];
      for (const who of shownCredentials()) {
        // They take such a token, and refuse it what it isn't for: test/blackbox/subjects/files/prefixes.ts.
        if (who === 'prefix' && keepsToPrefix(route)) continue;
        // A reconcile costs requests: that it is let in is shown once.
        if (route.path.endsWith('/reconcile') && who.endsWith('operator')) continue;
        // It would end: test/blackbox/tokens.ts shows what comes of it.
        if (`${route.method} ${route.path}` === 'DELETE /v1/session' && who.startsWith('session')) continue;
        expectTold(await ask(route, { tenant }, who), who, expected[who]);
      }
    });

    it.each(
      routes.filter(
        ({ path }) =>
          serves('downloads') && path.includes('/info/lfs/') && !/\/lfs\/(verify$|chunks\/)/.test(path),
      ),
    )('of $method $path let anybody download from a public repo, and do nothing else', async (route) => {
      const isBatch = route.path.endsWith('/batch');
      const isLook = route.path.endsWith('/locks/verify');
      const refused = isLook ? 403 : 404;
      const expected = isBatch
        ? rowOf('in', 401, 401, 'in', 'in', 'in', 'in', 403, 'in', 'in', 'in', 'in', 'in', 'in', 401)
        : rowOf(401, 401, 401, 'in', 'in', 'in', refused, 403, refused, 401, 401, 401, 401, 401, 401);
      for (const who of credentials) {
        expectTold(await ask(route, { tenant, repo: 'open' }, who), who, expected[who]);
      }
    });

    it.each(routes.filter(({ path }) => path.includes('{tenant}')))(
      'of $method $path tell a foreign token nothing: a tenant looks like one that is absent',
      async (route) => {
        const answer = await ask(route, { tenant }, 'foreign');
        for (const absent of route.path.endsWith('/lfs/verify')
          ? [newName()]
          : [newName(), 'UPPER', 'v1', 'x'.repeat(3000), '%00', '%2e%2e'])
          expect(comparable(await ask(route, { tenant: absent }, 'foreign'))).toEqual(comparable(answer));
      },
    );

    it.each(routes.filter(({ path }) => /^\/v1\/.*\{tenant\}(?!\/(exchange|audit)$)/.test(path)))(
      'of $method $path tell the operator that there is no such tenant, whatever its name',
      async (route) => {
        for (const absent of [newName(), 'UPPER', '..', '%2e%2e', 'a%2fb', 'x'.repeat(3000), '%00'])
          expectProblem(await ask(route, { tenant: absent }, 'operator'), 404);
      },
    );

    it.each(routes.filter(({ path }) => path.includes('{repo}')))(
      'of $method $path tell a token for one repo nothing of another: it looks like one that is absent',
      async (route) => {
        const answer = await ask(route, { tenant, repo: 'film' }, 'one repo');
        const absent = await ask(route, { tenant, repo: 'absent' }, 'one repo');
        expect(comparable(absent)).toEqual(comparable(answer));
      },
    );

    it('are nothing in a suspended tenant, but the operator’s', async () => {
      const set = async (body: object) =>
        expectStatus(await api().manage('PATCH', `/v1/tenants/${tenant}`, body), 200);
      const sentence = 'Pay your invoice: https://example.com/pay';
      await set({ suspended: 'all', suspendedMessage: sentence });
      try {
        for (const route of routes) {
          const caller = callers[`${route.method} ${route.path}`] as Caller;
          const told = table[caller];
          const isLfs = route.path.includes('/info/lfs/');
          for (const who of shownCredentials().filter((each) => /read|manage|person/.test(each))) {
            const isOut = told[who] !== 'in' || ['all', 'identity', 'session'].includes(caller);
            if (isOut || (caller === 'anybody' && who.startsWith('session'))) continue;
            const answer = await ask(route, { tenant }, who);
            if (isLfs) expectLfsError(answer, 403, new RegExp(`^${tenant} is suspended. ${sentence}`));
            else expectProblem(answer, 403, new RegExp(`^${tenant} is suspended. ${sentence}`));
          }
          if (told.operator === 'in' && !route.path.endsWith('/reconcile'))
            expect((await ask(route, { tenant }, 'operator')).status, route.path).not.toBe(403);
        }
      } finally {
        await set({ suspended: null });
      }
    });

    const get = async (what: string, who: Credential) => {
      const answer = await api().as(held[who], 'GET', `/v1/tenants/${tenant}/${what}`);
      return { status: answer.status, text: answer.text };
    };

    it.each([
      'subscription',
      'repos',
      'reservations',
      ...readersLists,
      'scans',
      'objects?repo=game',
      'reservations?repo=film',
      'objects?repo=film',
      'objects',
      'deletions?repo=game',
      'deletions?repo=film',
      'deletions',
    ])('let a token for one repo see nothing of another in %s', async (what) => {
      const { status, text } = await get(what, 'one repo');
      const needsRepo = /^(objects|deletions)$/.test(what);
      expect(status).toBe(what.endsWith('film') ? 404 : needsRepo ? 403 : 200);
      expect(text.replace('repo=film', '')).not.toMatch(/film/);
      expect(text).not.toContain(stored.film.oid);
      if (what === 'objects?repo=game') expect(text).toContain(stored.game.oid);
      if (what === 'reservations') expect(text).toContain('"game"');
      if (what.startsWith('reservations')) expect((await get(what, 'read')).text).toContain('"film"');
    });
  });
}

/** That somebody is let in, whatever comes of the request, or is refused by who asks, not by what is asked. */
function expectTold(answer: Answer, who: Credential, expected: 'in' | number): void {
  const { status, text } = answer;
  const isRefused =
    status === 401 ||
    (status < 405 &&
      status > 400 &&
      /scope-too-small|beyond-prefix|only for files that start with users\/7\/|tenant-not-found|Repository not found|Upload not found/.test(
        text,
      ));
  // A repeated 401 of the LFS API.
  const told = /invalid, expired or revoked/.test(text) ? 401 : isRefused ? status : 'in';
  expect([who, told], text.slice(0, 500)).toEqual([who, expected]);
  if (told === 'in') return;
  if (answer.headers['content-type'] === lfsType) expectLfsError(answer, status);
  else expectProblem(answer, status);
}
