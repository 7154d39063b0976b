import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  type Answer,
  type Api,
  allPages,
  basic,
  bodyOf,
  comparable,
  expectLfsError,
  expectProblem,
  expectStatus,
  jsonOf,
  newName,
  once,
  pageQuery,
  type TestTenant,
} from './api.ts';
import { ask, type LfsObject, newOid, objectOf, pointer, postBatch, push } from './lfs.ts';
import { repoShape, scannedWithinDefaultMs, subscriptionOf } from './subscription.ts';

/** A closed repo stays closed for a minute at least; then the next message or run of the schedule opens it. */
const openedWithinMs = 240_000;

const plan = z.strictObject({
  tenant: z.string(),
  repo: z.string().optional(),
  oid: z.string().optional(),
  objectCount: z.number().nullable(),
  bytes: z.number().nullable(),
  dueAt: z.iso.datetime(),
  waitsFor: z.literal('uploads').optional(),
});

function planIn(answer: Answer, status: 200 | 202): z.output<typeof plan> {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json');
  return plan.parse(jsonOf(answer));
}

const repoList = z.strictObject({ repos: z.array(repoShape), nextCursor: z.string().nullable() });

const deletionList = z.strictObject({
  deletions: z.array(
    z.strictObject({
      repo: z.string(),
      oid: z.string().regex(/^[0-9a-f]{64}$/),
      sizeBytes: z.int().min(0),
      state: z.enum(['scheduled', 'deleting']),
      dueAt: z.iso.datetime(),
    }),
  ),
  nextCursor: z.string().nullable(),
});

/** Deletes that need nothing but the API. What was pushed just now stays until its URLs are dead. */
export function deleteTests(api: () => Api): void {
  const manage = (method: string, path: string, body?: object) => api().manage(method, path, body);
  const object = objectOf(500);
  const place = (tenant: TestTenant) => ({ ...tenant, repo: 'game' });

  describe('a delete', () => {
    let own: TestTenant;
    beforeEach(async () => {
      own = await api().newTenant({ limitBytes: 10_000 });
      await push(api(), place(own), [object]);
    });

    it('of what is not there is a 404, whatever its name', async () => {
      const { tenant } = own;
      for (const repo of ['other', 'gam', 'Game', '.git', '..', '%2e%2e', 'a%2fb', 'x'.repeat(101), '%00']) {
        expectProblem(await manage('DELETE', `/v1/tenants/${tenant}/repos/${repo}`), 404);
        const path = `/v1/tenants/${tenant}/repos/${repo}/objects/${object.oid}`;
        expectProblem(await manage('DELETE', path), 404);
      }
      for (const oid of [newOid(), object.oid.toUpperCase(), object.oid.slice(1), '..', '%00', '*']) {
        expectProblem(await manage('DELETE', `/v1/tenants/${tenant}/repos/game/objects/${oid}`), 404);
      }
    });

    it.each(['dryRun', 'dryRun=', 'dryRun=1', 'dryRun=True', 'dryrun=true', 'dry-run=true', 'force=true'])(
      'with the query %s is refused: who misspells a dry run must lose nothing',
      async (query) => {
        for (const rest of ['', '/repos/game', `/repos/game/objects/${object.oid}`]) {
          const answer = await manage('DELETE', `/v1/tenants/${own.tenant}${rest}?${query}`);
          expectProblem(answer, 422, /dryRun=true/);
        }
      },
    );

    it('of an object tells what it frees and when, and is asked for once', async () => {
      const path = `/v1/tenants/${own.tenant}/repos/game.git/objects/${object.oid}`;
      const dry = planIn(await manage('DELETE', `${path}?dryRun=true`), 200);
      const { tenant } = own;
      expect(dry).toMatchObject({ tenant, repo: 'game', oid: object.oid, objectCount: 1, bytes: 500 });
      expect(Date.parse(dry.dueAt)).toBeGreaterThan(Date.now() + 50 * 60_000);
      await sleep(1100);
      const first = planIn(await manage('DELETE', path), 202);
      // The dry run has marked nothing.
      expect(Date.parse(first.dueAt)).toBeGreaterThan(Date.parse(dry.dueAt));
      await sleep(1100);
      expect(planIn(await manage('DELETE', `${path}?dryRun=false`), 202)).toEqual(first);
    });

    it('of objects is listed until they go, a page at a time, of the tenant or of one repo', async () => {
      const two = await api().newTenant();
      const [first, second] = [objectOf(10), objectOf(20)];
      await push(api(), place(two), [first, second]);
      await push(api(), { ...two, repo: 'art' }, [first]);
      const path = `/v1/tenants/${two.tenant}/deletions`;
      const list = async (query = '', token = two.readToken) => {
        return bodyOf(await api().as(basic(token), 'GET', path + query), 200, deletionList);
      };
      expect(await list()).toEqual({ deletions: [], nextCursor: null });
      const dueAts = new Map<string, string>();
      for (const [repo, { oid }] of [
        ['game', first],
        ['game', second],
        ['art', first],
      ] as const) {
        const answer = await manage('DELETE', `/v1/tenants/${two.tenant}/repos/${repo}/objects/${oid}`);
        dueAts.set(repo + oid, planIn(answer, 202).dueAt);
      }
      const { deletions } = await list();
      expect(deletions.map(({ repo }) => repo)).toEqual(['art', 'game', 'game']);
      for (const { repo, oid, state, dueAt } of deletions)
        expect([state, dueAt]).toEqual(['scheduled', dueAts.get(repo + oid)]);
      expect(new Set(deletions.map(({ repo, oid, sizeBytes }) => `${repo} ${oid} ${sizeBytes}`))).toEqual(
        new Set([`art ${first.oid} 10`, `game ${first.oid} 10`, `game ${second.oid} 20`]),
      );
      for (const [filter, count] of [
        ['', 3],
        ['&repo=game.git', 2],
        ['&repo=other', 0],
      ] as const) {
        const found = await allPages(
          1,
          (cursor) => list(`?${pageQuery(1, cursor)}${filter}`),
          (page) => page.deletions,
        );
        expect(found).toHaveLength(count);
      }
      // What is pushed again is not marked any more.
      await ask(api(), place(two), 'upload', first);
      expect((await list('?repo=game')).deletions.map(({ oid }) => oid)).toEqual([second.oid]);
      const { token } = await api().newToken(two.tenant, { scope: 'read', repos: ['art'] });
      expect((await list('?repo=art', token)).deletions).toHaveLength(1);
      for (const [query, status] of [
        ['', 403],
        ['?repo=game', 404],
        ['?repo=absent', 404],
      ] as const)
        expectProblem(await api().as(basic(token), 'GET', path + query), status);
    });

    it('is not listed after what is no cursor of that list', async () => {
      const path = `/v1/tenants/${own.tenant}/deletions`;
      const hex = (text: string) => `c${Buffer.from(text).toString('hex')}`;
      for (const cursor of ['c', ...['game', '#game', `${'a'.repeat(802)}#game`].map(hex)])
        expectProblem(await manage('GET', `${path}?cursor=${cursor}`), 422, /^cursor: /);
      const places = ['0#', 'gc-a-0-1#game#x', 'z#\u{10ffff}', `z#${'x'.repeat(1024)}`, '0#\u0000', '0#aaa'];
      for (const cursor of [...places.map(hex), `${hex('0#')}${'ff'.repeat(1024)}`])
        for (const filter of ['', '&repo=game']) {
          expectStatus(await manage('GET', `${path}?cursor=${cursor}${filter}`), 200);
        }
      for (const query of ['repo=..', 'state=marked'])
        expectProblem(await manage('GET', `${path}?${query}`), 422);
      expect((await manage('DELETE', path)).headers['allow']).toBe('GET');
    });

    it('of an object that is pushed again before is called off', async () => {
      const path = `/v1/tenants/${own.tenant}/repos/game/objects/${object.oid}`;
      const first = planIn(await manage('DELETE', path), 202);
      const answer = await ask(api(), place(own), 'upload', object);
      expect([answer.actions, answer.error]).toEqual([undefined, undefined]);
      await sleep(1100);
      const again = planIn(await manage('DELETE', path), 202);
      expect(Date.parse(again.dueAt)).toBeGreaterThan(Date.parse(first.dueAt));
    });

    it('of a repo closes it at once, and no other', async () => {
      const { tenant } = own;
      await push(api(), { ...own, repo: 'art' }, [object]);
      const path = `/v1/tenants/${tenant}/repos/game`;
      planIn(await manage('DELETE', `${path}?dryRun=true`), 200);
      const listed = repoList.parse(jsonOf(await manage('GET', `/v1/tenants/${tenant}/repos`)));
      expect(listed.repos.filter(({ deleting }) => deleting)).toEqual([]);
      const first = planIn(await manage('DELETE', path), 202);
      // It was pushed just now, so its URLs are good for half an hour.
      expect(first).toMatchObject({ tenant, repo: 'game', waitsFor: 'uploads' });
      expect(Date.parse(first.dueAt)).toBeGreaterThan(Date.now() + 25 * 60_000);
      for (const operation of ['upload', 'download'] as const) {
        const body = { operation, objects: [pointer(object)] };
        const closed = await postBatch(api(), place(own), body);
        expectLfsError(closed, 404);
        const foreign = await postBatch(api(), { ...place(own), tenant: newName() }, body);
        expect(comparable(closed)).toEqual(comparable(foreign));
      }
      expect((await ask(api(), { ...own, repo: 'art' }, 'download', object)).actions?.download).toBeDefined();
      expectProblem(await manage('POST', `${path}/objects/${object.oid}/keep`), 404);
      const again = planIn(await manage('DELETE', path), 202);
      expect(again.dueAt).toBe(first.dueAt);
      const now = repoList.parse(jsonOf(await manage('GET', `/v1/tenants/${tenant}/repos`)));
      expect(now.repos.find(({ repo }) => repo === 'game')).toMatchObject({ deleting: true });
      expect(now.repos.find(({ repo }) => repo === 'art')?.deleting).toBeUndefined();
    });
  });

  describe('the delete of a tenant', () => {
    let own: TestTenant;
    beforeEach(async () => {
      own = await api().newTenant({ limitBytes: 10_000, plan: 'small' });
      await push(api(), place(own), [object]);
    });

    it('shown first changes nothing', async () => {
      const path = `/v1/tenants/${own.tenant}`;
      expect(planIn(await manage('DELETE', `${path}?dryRun=true`), 200)).toMatchObject({
        tenant: own.tenant,
      });
      expect(jsonOf(await manage('GET', path))).not.toHaveProperty('deleting');
      expect((await ask(api(), place(own), 'download', object)).actions?.download).toBeDefined();
    });

    it('ends its tokens at once, and lets nothing of it be changed', async () => {
      const path = `/v1/tenants/${own.tenant}`;
      const first = planIn(await manage('DELETE', path), 202);
      for (const token of [own.writeToken, own.readToken]) {
        const body = { operation: 'download', objects: [pointer(object)] };
        expectLfsError(await postBatch(api(), place(own), body, basic(token)), 401);
      }
      expect(jsonOf(await manage('GET', `${path}/tokens`))).toEqual({ tokens: [], nextCursor: null });
      expectProblem(await manage('PATCH', path, { limitBytes: null }), 409, /being deleted/);
      expectProblem(await manage('POST', `${path}/tokens`, { scope: 'write' }), 409, /being deleted/);
      expectProblem(await manage('POST', '/v1/tenants', { tenant: own.tenant }), 409, /can't be reused/);
      const kept = `${path}/repos/game/objects/${object.oid}/keep`;
      expectProblem(await manage('POST', kept), 409, /being deleted/);
      expect(planIn(await manage('DELETE', path), 202)).toMatchObject({ dueAt: first.dueAt });
    });

    it('shows that it is under way, while something of it is left', async () => {
      const path = `/v1/tenants/${own.tenant}`;
      planIn(await manage('DELETE', path), 202);
      const shown = await manage('GET', path);
      expect([shown.status, jsonOf(shown)]).toMatchObject([200, { deleting: true, plan: 'small' }]);
      expect(jsonOf(await manage('GET', `${path}/subscription`))).toMatchObject({ deleting: true });
      expect((await manage('GET', `${path}/repos`)).status).toBe(200);
    });
  });
}

/**
 * Deletes of what lay in the store before its tenant was created, so that no URL holds it. In two parts, so that
 * other tests can run while it is awaited. Skipped where nothing can be put into the store.
 */
export function importedDeleteTests(api: () => Api): { asked: () => void; onceDone: () => void } {
  const manage = (method: string, path: string) => api().manage(method, path);
  const game = [objectOf(100), objectOf(0), objectOf(3000)];
  const art = objectOf(7);
  const [tenant, doomed] = [newName(), newName()];
  const canImport = () => api().target.putObject !== undefined;

  const create = async (name: string, limitBytes: number): Promise<TestTenant> => {
    expectStatus(await api().manage('POST', '/v1/tenants', { tenant: name, limitBytes }), 201);
    const [write, read] = [
      await api().newToken(name, { scope: 'write' }),
      await api().newToken(name, { scope: 'read' }),
    ];
    return { tenant: name, writeToken: write.token, readToken: read.token };
  };
  const put = async (path: string, { oid, content }: LfsObject) =>
    api().target.putObject?.(`${path}/${oid}`, content);
  const imported = once(async () => {
    for (const object of game) await put(`${tenant}/game`, object);
    await put(`${tenant}/art`, art);
    for (const path of ['game', 'art', 'a folder/of another tool', '']) await put(`${doomed}/${path}`, art);
    await api().target.putObject?.(`${doomed}/beside`, Buffer.from('beside'));
    const own = await create(tenant, 3200);
    await create(doomed, 1000);
    return own;
  });
  /** Shown first, and then asked for. */
  const deletesAsked = once(async () => {
    const own = await imported();
    const { usage } = await subscriptionOf(api(), tenant);
    const dry = async (rest: string) =>
      planIn(await manage('DELETE', `/v1/tenants/${tenant}${rest}?dryRun=true`), 200);
    const dryRuns = [await dry(''), await dry('/repos/game'), await dry('/repos/art')];
    const downloads = [];
    for (const object of game) downloads.push(await ask(api(), { ...own, repo: 'game' }, 'download', object));
    const over = await ask(api(), { ...own, repo: 'art' }, 'upload', objectOf(1000));
    const askedAtMs = Date.now();
    const gone = planIn(await manage('DELETE', `/v1/tenants/${tenant}/repos/game`), 202);
    await subscriptionOf(api(), doomed);
    const all = planIn(await manage('DELETE', `/v1/tenants/${doomed}`), 202);
    return { own, usage, dryRuns, downloads, over, askedAtMs, gone, all };
  });
  const until = async (timeoutMs: number, isSo: () => Promise<boolean>) => {
    const { askedAtMs } = await deletesAsked();
    while (!(await isSo()) && Date.now() < askedAtMs + timeoutMs) await sleep(500);
  };
  /** As it is after the reconcile that follows. */
  const freed = once(async () => {
    const { own } = await deletesAsked();
    const read = () => subscriptionOf(api(), tenant);
    const scannedWithinMs = api().target.scannedWithinMs ?? scannedWithinDefaultMs;
    await until(scannedWithinMs, async () => (await read()).usage?.objectCount === 1);
    return { ...(await read()), fits: await ask(api(), { ...own, repo: 'art' }, 'upload', objectOf(1000)) };
  });

  const asked = () => {
    it('is shown first, counted, and nothing is changed by that', async ({ skip }) => {
      skip(!canImport(), 'nothing can be put into the store');
      const { usage, dryRuns, downloads, over } = await deletesAsked();
      expect(usage).toMatchObject({ storedBytes: 3107, objectCount: 4 });
      expect(dryRuns).toMatchObject([
        { tenant, objectCount: 4, bytes: 3107 },
        { repo: 'game', objectCount: 3, bytes: 3100 },
        { repo: 'art', objectCount: 1, bytes: 7 },
      ]);
      for (const { actions } of downloads) expect(actions?.download).toBeDefined();
      expect(over.error?.code).toBe(507);
    });

    it('tells what it frees when it is asked for', async ({ skip }) => {
      skip(!canImport(), 'nothing can be put into the store');
      const { gone, all } = await deletesAsked();
      expect(gone).toMatchObject({ tenant, repo: 'game', objectCount: 3, bytes: 3100 });
      expect(all).toMatchObject({ tenant: doomed, objectCount: 5, bytes: 4 * 7 + 'beside'.length });
    });

    it('frees the quota as soon as the reconcile that follows is done', {
      timeout: openedWithinMs,
    }, async ({ skip }) => {
      skip(!canImport(), 'nothing can be put into the store');
      const { usage, repos, fits } = await freed();
      expect(usage).toMatchObject({ storedBytes: 7, objectCount: 1, committedBytes: 7, source: 'cache' });
      // Empty, but not open again yet.
      expect(repos.find(({ repo }) => repo === 'game')).toMatchObject({ objectCount: 0, deleting: true });
      expect(fits.actions?.upload).toBeDefined();
    });
  };

  const onceDone = () => {
    it('leaves the name of a repo free to be used anew', async ({ skip }) => {
      skip(!canImport(), 'nothing can be put into the store');
      const isListed = async () =>
        repoList
          .parse(jsonOf(await manage('GET', `/v1/tenants/${tenant}/repos`)))
          .repos.some(({ repo }) => repo === 'game');
      await freed();
      await until(openedWithinMs, async () => !(await isListed()));
      expectProblem(await manage('DELETE', `/v1/tenants/${tenant}/repos/game`), 404);
      const [object] = game;
      if (!object) throw new Error('There is no object.');
      const place = { ...(await deletesAsked()).own, repo: 'game' };
      expect((await ask(api(), place, 'download', object)).error?.code).toBe(404);
      await push(api(), place, [object]);
      expect((await ask(api(), place, 'download', object)).actions?.download).toBeDefined();
    }, 300_000);

    it('leaves nothing of a tenant but its name', async ({ skip }) => {
      skip(!canImport(), 'nothing can be put into the store');
      const path = `/v1/tenants/${doomed}`;
      await freed();
      await until(openedWithinMs, async () => (await manage('GET', path)).status === 404);
      expectProblem(await manage('GET', path), 404);
      for (const rest of ['', '/repos/game', `/repos/game/objects/${art.oid}`])
        expectProblem(await manage('DELETE', `${path}${rest}`), 404);
      const before = doomed.slice(0, -1);
      const listed = jsonOf(await manage('GET', `/v1/tenants?limit=1000&after=${before}`));
      expect(JSON.stringify(listed)).not.toContain(`"${doomed}"`);
      const again = await api().manage('POST', '/v1/tenants', { tenant: doomed });
      expectProblem(again, 409, /can't be reused/);
    }, 300_000);
  };

  return { asked, onceDone };
}
