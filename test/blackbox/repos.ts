import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Answer,
  type Api,
  allPages,
  bearer,
  bodyOf,
  comparable,
  expectLfsError,
  expectProblem,
  expectStatus,
  jsonOf,
  newName,
  pageQuery,
  type TestTenant,
} from './api.ts';
import { batch, objectOf, objectsIn, type Place, pointer, postBatch, push } from './lfs.ts';
import { repoShape, subscriptionOf } from './subscription.ts';

/** Repos that are created, and limits of their own. */
export function repoTests(api: () => Api): void {
  const newPlace = async (): Promise<Place> => ({
    ...(await api().newTenant({ limitBytes: 10_000 })),
    repo: 'game',
  });
  const repos = ({ tenant }: Place) => `/v1/tenants/${tenant}/repos`;
  const create = (place: Place, body: object) => api().manage('POST', repos(place), body);
  const limit = (place: Place, limitBytes: number | null) =>
    api().manage('PATCH', `${repos(place)}/${place.repo}`, { limitBytes });
  const kindOf = (
    answer: { actions?: object | undefined; error?: { code: number } | undefined } | undefined,
  ) => answer?.error?.code ?? (answer?.actions ? 'upload' : 'stored');
  const upload = async (place: Place, ...sizes: number[]) => {
    const objects = sizes.map(objectOf);
    const answers = await batch(api(), place, 'upload', objects.map(pointer));
    return objects.map(({ oid }) => kindOf(answers.get(oid)));
  };

  describe('a repo that was just pushed to', () => {
    it('is uploading until it is counted, and no other is', async () => {
      const place = await newPlace();
      expectProblem(await api().manage('GET', `${repos(place)}/game`), 404);
      expect(await upload(place, 100)).toEqual(['upload']);
      const shown = repoShape.parse(jsonOf(await api().manage('GET', `${repos(place)}/game`)));
      const listed = jsonOf(await api().manage('GET', repos(place))) as { repos: unknown[] };
      // A reconcile might have come between. One repo alone is shown with its weeks.
      const { weeks: _, ...inList } = shown;
      expect(listed.repos).toEqual([inList]);
      if (shown.scannedAt === null) expect(shown).toMatchObject({ uploading: true, storedBytes: null });
      expectProblem(await api().manage('GET', `${repos(place)}/gam`), 404);
    });
  });

  describe('a limit of a repo', () => {
    it('holds to the byte beside that of the tenant, and for no other repo', async () => {
      const place = await newPlace();
      const first = objectOf(600);
      await push(api(), place, [first]);
      const changed = await limit(place, 1000);
      expect(repoShape.parse(jsonOf(changed))).toMatchObject({ repo: 'game', limitBytes: 1000 });
      expect(await upload(place, 401)).toEqual([507]);
      expect(await upload(place, 300, 101, 100)).toEqual(['upload', 507, 'upload']);
      expect(await upload({ ...place, repo: 'site' }, 9001)).toEqual([507]);
      expect(await upload({ ...place, repo: 'site' }, 9000)).toEqual(['upload']);
      // What is stored already takes up nothing more.
      const again = await batch(api(), place, 'upload', [pointer(first)]);
      expect(kindOf(again.get(first.oid))).toBe('stored');
    });

    it('is named by the refusal', async () => {
      const place = await newPlace();
      await create(place, { repo: 'game', limitBytes: 100 });
      const answer = await postBatch(api(), place, {
        operation: 'upload',
        objects: [pointer(objectOf(101))],
      });
      const message = objectsIn(answer)[0]?.error?.message;
      expect(message).toContain(`Storage limit reached: ${place.tenant}/game uses 0 B of 100 B.`);
    });

    it('is shown with its repo, and lifted by null', async () => {
      const place = await newPlace();
      await create(place, { repo: 'game', limitBytes: 100 });
      expect((await subscriptionOf(api(), place.tenant)).repos).toMatchObject([
        { repo: 'game', limitBytes: 100, storedBytes: 0 },
      ]);
      expect(jsonOf(await limit(place, null))).toMatchObject({ limitBytes: null });
      expect(await upload(place, 101)).toEqual(['upload']);
    });

    it('is a whole number of bytes', async () => {
      const place = await newPlace();
      await create(place, { repo: 'game' });
      for (const limitBytes of [-1, 1.5, '5', true, 2 ** 53, undefined])
        expectProblem(await api().manage('PATCH', `${repos(place)}/game`, { limitBytes }), 422);
      expectProblem(await api().manage('PATCH', `${repos(place)}/nothing`, { limitBytes: 5 }), 404);
      expectProblem(await api().manage('PATCH', `${repos(place)}/..`, { limitBytes: 5 }), 404);
    });

    it('can be set by who manages the tenant', async () => {
      const place = await newPlace();
      const body = { scope: 'manage', label: 'boss' };
      const made = await api().manage('POST', `/v1/tenants/${place.tenant}/tokens`, body);
      const { token } = jsonOf(made) as { token: string };
      expectStatus(await api().as(bearer(token), 'POST', repos(place), { repo: 'game', limitBytes: 5 }), 201);
    });
  });

  describe('a repo', () => {
    it('is created once, and shown though nothing is in it', async () => {
      const place = await newPlace();
      const created = await create(place, { repo: 'game' });
      expect(created.status, created.text).toBe(201);
      expect(created.headers['location']).toBe(`${repos(place)}/game`);
      expect(repoShape.parse(jsonOf(created))).toMatchObject({
        repo: 'game',
        limitBytes: null,
        storedBytes: 0,
        objectCount: 0,
      });
      const shown = await api().manage('GET', `${repos(place)}/game`);
      const { weeks: _, ...inList } = jsonOf(shown) as { weeks?: unknown };
      expect(inList).toEqual(jsonOf(created));
      expectProblem(await create(place, { repo: 'game' }), 409);
    });

    it('of a wrong name is refused', async () => {
      const place = await newPlace();
      for (const repo of ['', '..', 'a b', 'x'.repeat(101), 'game.git', 5, null, undefined])
        expectProblem(await create(place, { repo }), 422);
    });

    it('is made by its first push, unless its tenant wants it to be created', async () => {
      const place = await newPlace();
      const old = { ...place, repo: 'old' };
      await push(api(), old, [objectOf(10)]);
      await expect
        .poll(async () => (await subscriptionOf(api(), place.tenant)).repos, {
          timeout: 120_000,
          interval: 500,
        })
        .toMatchObject([{ repo: 'old' }]);
      const { tenant } = place;
      const set = await api().manage('PATCH', `/v1/tenants/${tenant}`, { reposMustExist: true });
      expect(jsonOf(set)).toMatchObject({ reposMustExist: true });
      const mistyped = { operation: 'upload', objects: [pointer(objectOf(10))] };
      const refused = await postBatch(api(), place, mistyped);
      expectLfsError(
        refused,
        404,
        new RegExp(`Repo ${tenant}/game doesn't exist.*lfs-quota repo create ${tenant} game`),
      );
      expect(await upload(old, 10)).toEqual(['upload']);
      await create(place, { repo: 'game' });
      await push(api(), place, [objectOf(10)]);
      await api().manage('PATCH', `/v1/tenants/${tenant}`, { reposMustExist: false });
      expect(await upload({ ...place, repo: 'other' }, 10)).toEqual(['upload']);
    });
  });
}

const objectPage = z.strictObject({
  objects: z.array(
    z.strictObject({
      repo: z.string(),
      oid: z.string(),
      sizeBytes: z.number(),
      // Every store that there is says when.
      storedAt: z.iso.datetime(),
    }),
  ),
  others: z.array(z.strictObject({ repo: z.string(), objectCount: z.number(), sizeBytes: z.number() })),
  nextCursor: z.string().nullable(),
});

/** The list of what a tenant stores. */
export function objectTests(api: () => Api): void {
  describe('the list of objects', () => {
    const stored = [1, 2, 3, 4, 0].map((size, index) => ({
      ...objectOf(size),
      repo: index < 2 ? 'art' : 'game',
    }));
    const shown = stored
      .map(({ repo, oid, size }) => ({ repo, oid, sizeBytes: size }))
      .sort((a, b) => (a.repo + a.oid < b.repo + b.oid ? -1 : 1));
    let own: TestTenant;
    let other: TestTenant;
    const get = (query: string, token: string, tenant = own.tenant) =>
      api().as(bearer(token), 'GET', `/v1/tenants/${tenant}/objects${query}`);
    const list = async (query = '', token = own.readToken) => pageIn(await get(query, token));
    /** Without the times, once they were looked at. */
    const pageIn = (answer: Answer) => {
      const { objects, others, nextCursor } = bodyOf(answer, 200, objectPage);
      for (const { storedAt } of objects)
        expect(Math.abs(Date.now() - Date.parse(storedAt))).toBeLessThan(30 * 60_000);
      return { objects: objects.map(({ storedAt: _, ...object }) => object), others, nextCursor };
    };

    beforeAll(async () => {
      [own, other] = [await api().newTenant(), await api().newTenant()];
      for (const repo of ['art', 'game'])
        await push(
          api(),
          { ...own, repo },
          stored.filter((object) => object.repo === repo),
        );
    });

    it('has what was just pushed, for the operator and any token of the tenant', async () => {
      for (const token of [own.readToken, own.writeToken, api().target.adminToken])
        expect(await list('', token)).toEqual({ objects: shown, others: [], nextCursor: null });
      const ofOther = pageIn(await get('', other.readToken, other.tenant));
      expect(ofOther).toEqual({ objects: [], others: [], nextCursor: null });
    });

    it('of a repo has no others', async () => {
      const inGame = shown.filter(({ repo }) => repo === 'game');
      for (const name of ['game', 'game.git'])
        expect(await list(`?repo=${name}`)).toEqual({ objects: inGame, others: [], nextCursor: null });
      expect(await list('?repo=gam')).toEqual({ objects: [], others: [], nextCursor: null });
    });

    it.each(['', '&repo=game'])('is read in pages, each object once (%j)', async (filter) => {
      const found = await allPages(
        2,
        (cursor) => list(`?${pageQuery(2, cursor)}${filter}`),
        ({ objects }) => objects,
      );
      expect(found).toEqual(shown.filter(({ repo }) => filter === '' || repo === 'game'));
    });

    it('is not there for others, who cannot tell it from none', async () => {
      const refused = await get('', other.readToken);
      expectProblem(refused, 404, /tenant doesn't exist/);
      expect(comparable(await get('', other.readToken, newName()))).toEqual(comparable(refused));
      expectProblem(await get('', 'nobody'), 401);
    });

    it.each(['c', 'art/1', `c${'61'.repeat(1022)}`, `c${'61'.repeat(1023)}`, `c${'ff'.repeat(400)}`])(
      'does not go on after %.20j, which is no cursor',
      async (cursor) => {
        expectProblem(await get(`?cursor=${cursor}`, own.readToken), 422, /^cursor: /);
      },
    );

    it.each(['c00', 'cff', 'c7e7e', 'c0a', `c${'/'.charCodeAt(0).toString(16)}`])(
      'is answered after %j, whatever that is',
      async (cursor) => {
        await list(`?cursor=${cursor}`);
      },
    );

    it.each(['?repo=', '?repo=..', '?repo=a%2fb', '?prefix=a'])('is refused for %s', async (query) => {
      expectProblem(await get(query, own.readToken), 422);
    });
  });
}
