import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Api,
  basic,
  bearer,
  bodyOf,
  comparable,
  expectLfsError,
  expectProblem,
  expectStatus,
  jsonOf,
  newName,
  type TestTenant,
} from '../../api.ts';
import {
  batchPath,
  lfsHeaders,
  newOid,
  objectOf,
  objectsIn,
  type Place,
  pointer,
  postBatch,
  push,
} from '../../lfs.ts';
import { repoShape as anyRepoShape } from '../../subscription.ts';

const publicReadShape = z.strictObject({
  monthlyLimitBytes: z.number().nullable(),
  since: z.string(),
  month: z
    .strictObject({ month: z.string(), bytes: z.number(), objects: z.number(), resetsAt: z.string() })
    .optional(),
});
const repoShape = anyRepoShape.extend({ publicRead: publicReadShape.optional() });

/** Repos of which anybody may download. */
export function publicRepoTests(api: () => Api): void {
  describe('a public repo', () => {
    const [large, small] = [objectOf(7000), objectOf(5000)];
    let place: Place;
    let other: TestTenant;
    let manage: string;

    /** A batch as whoever the headers say. Without any: nobody. */
    const ask = (
      of: { tenant?: string; repo?: string } = {},
      headers: Record<string, string> = {},
      body: object = { operation: 'download', objects: [pointer(large)] },
    ) => {
      const { tenant = place.tenant, repo = place.repo } = of;
      return api().send({
        method: 'POST',
        path: batchPath({ tenant, repo }),
        headers: { ...lfsHeaders, ...headers },
        body: JSON.stringify(body),
      });
    };
    const change = (body: unknown, headers?: Record<string, string>, repo = place.repo) => {
      const path = `/v1/tenants/${place.tenant}/repos/${repo}`;
      if (!headers) return api().manage('PATCH', path, body);
      const type = { 'content-type': 'application/json' };
      return api().send({
        method: 'PATCH',
        path,
        headers: { ...headers, ...type },
        body: JSON.stringify(body),
      });
    };
    const makePublic = async (monthlyLimitBytes: number | null) => {
      return bodyOf(await change({ publicRead: { monthlyLimitBytes } }), 200, repoShape);
    };

    beforeAll(async () => {
      place = await api().newPlace();
      other = await api().newTenant();
      manage = (await api().newToken(place.tenant, { scope: 'manage' })).token;
      for (const repo of ['game', 'film']) await push(api(), { ...place, repo }, [large, small]);
    });

    it('is private until somebody says so, and looks like none', async () => {
      const answer = await ask();
      expectLfsError(answer, 401);
      for (const of of [{ repo: 'film' }, { repo: newName() }, { tenant: newName() }, { tenant: 'UPPER' }])
        expect(comparable(await ask(of))).toEqual(comparable(answer));
    });

    it.each([
      [{}],
      [{ publicRead: {} }],
      [{ publicRead: true }],
      [{ publicRead: { monthlyLimitBytes: -1 } }],
      [{ publicRead: { monthlyLimitBytes: 1.5 } }],
      [{ publicRead: { monthlyLimitBytes: 10, limit: 1 } }],
      [{ publicRead: null, public: true }],
    ])('does not come of %j', async (body) => {
      expectProblem(await change(body), 422);
      expectLfsError(await ask(), 401);
    });

    it('comes of whoever manages the tenant, with a ceiling; without one only of the operator', async () => {
      const unlimited = { publicRead: { monthlyLimitBytes: null } };
      expectProblem(await change(unlimited, bearer(manage)), 403, /admin token/);
      expectProblem(await change({ publicRead: { monthlyLimitBytes: 1 } }, bearer(place.writeToken)), 403);
      expectLfsError(await ask(), 401);
      expectStatus(await change({ publicRead: { monthlyLimitBytes: 30_000 } }, bearer(manage)), 200);
      const downloads = (downloadLimitBytes: number | null) =>
        api().manage('PATCH', `/v1/tenants/${place.tenant}`, { downloadLimitBytes });
      await downloads(50_000);
      for (const [monthlyLimitBytes, status] of [
        [50_000, 200],
        [50_001, 403],
      ] as const)
        expect((await change({ publicRead: { monthlyLimitBytes } }, bearer(manage))).status).toBe(status);
      expect((await change({ publicRead: { monthlyLimitBytes: 50_001 } })).status).toBe(200);
      await downloads(null);
      expect((await makePublic(null)).publicRead).toMatchObject({ monthlyLimitBytes: null });
      expect((await makePublic(30_000)).publicRead).toMatchObject({
        monthlyLimitBytes: 30_000,
        month: { bytes: 0, objects: 0 },
      });
    });

    it('must have something in it: a name that was mistyped is none', async () => {
      for (const publicRead of [{ monthlyLimitBytes: 1 }, null])
        expectProblem(await change({ publicRead }, undefined, 'gmae'), 404);
    });

    it('gives its objects to anybody, and to the tokens of others', async () => {
      for (const headers of [{}, basic(other.readToken)]) {
        const [object] = objectsIn(await ask({}, headers));
        const { href, header } = object?.actions?.download ?? {};
        if (!href) throw new Error('no URL');
        const got = await api().follow(href, { method: 'GET', ...(header && { headers: header }) });
        expect([got.status, got.bytes.equals(large.content)]).toEqual([200, true]);
      }
    });

    it('is none while its tenant is suspended, and says nothing of that', async () => {
      const own = await api().newPlace();
      const path = `/v1/tenants/${own.tenant}`;
      await push(api(), own, [small]);
      const publicRead = { monthlyLimitBytes: 100_000 };
      bodyOf(await api().manage('PATCH', `${path}/repos/game`, { publicRead }), 200, repoShape);
      for (const [suspended, status] of [
        ['pushes', 200],
        ['all', 401],
        [null, 200],
      ] as const) {
        const set = await api().manage('PATCH', path, { suspended });
        expect(set.status, set.text).toBe(200);
        const { status: told, text } = await ask(own);
        expect([told, text.includes('suspended')]).toEqual([status, false]);
      }
    });

    it('keeps all else for those who have a token', async () => {
      const refused = await ask({ repo: 'film' });
      const upload = { operation: 'upload', objects: [pointer(objectOf(10))] };
      expect(comparable(await ask({}, {}, upload))).toEqual(comparable(refused));
      expect(comparable(await ask({}, {}, { operation: 'download' }))).toEqual(comparable(refused));
      expect(comparable(await ask({ repo: 'film' }))).toEqual(comparable(refused));
      expectLfsError(await ask({}, basic(other.writeToken), upload), 404);
      expectLfsError(await ask({ repo: 'film' }, basic(other.writeToken)), 404);
      const request = { path: `/${place.tenant}/${place.repo}/info/lfs/verify`, headers: lfsHeaders };
      expectLfsError(await api().send({ ...request, method: 'POST', body: '{}' }), 401);
    });

    it('does not hide from anybody that their token is wrong', async () => {
      expectLfsError(await ask({}, bearer(`lfsq_${newOid()}`)), 401);
    });

    it('is shown as such, and what strangers pulled as of a token called public', async () => {
      const at = `/v1/tenants/${place.tenant}`;
      const shown = repoShape.parse(jsonOf(await api().manage('GET', `${at}/repos/game`)));
      expect(shown.publicRead).toMatchObject({
        monthlyLimitBytes: 30_000,
        month: { bytes: 14_000, objects: 2 },
      });
      const { downloads, month } = z
        .object({ month: z.object({ bytes: z.number() }), downloads: z.array(z.looseObject({})) })
        .parse(jsonOf(await api().manage('GET', `${at}/downloads`)));
      expect(month.bytes).toBe(14_000);
      expect(downloads).toMatchObject([{ repo: 'game', tokenId: 'public', bytes: 14_000, objects: 2 }]);
    });

    it('ends at its ceiling with one answer, and not for the tenant’s own tokens', async () => {
      const both = { operation: 'download', objects: [large, small].map(pointer) };
      objectsIn(await ask({}, {}, both));
      const refused = await ask();
      expectLfsError(refused, 509, /game used 25\.39 KiB of 29\.3 KiB, this needs 6\.84 KiB\./);
      objectsIn(await postBatch(api(), place, both, basic(place.readToken)));
      expect((await makePublic(40_000)).publicRead?.month?.bytes).toBe(26_000);
      objectsIn(await ask());
    });

    it('ends at the tenant’s limit, of which strangers learn no number', async () => {
      const limit = async (downloadLimitBytes: number | null) => {
        expectStatus(await api().manage('PATCH', `/v1/tenants/${place.tenant}`, { downloadLimitBytes }), 200);
      };
      await limit(1000);
      const refused = await ask();
      expectLfsError(refused, 509, /limit reached for .*It resets on/);
      expect(refused.text).not.toMatch(/KiB|1000| B\b/);
      await limit(null);
    });

    it('is private again at once, and after a delete', async () => {
      const answer = await change({ publicRead: null }, bearer(manage));
      expect([answer.status, repoShape.parse(jsonOf(answer)).publicRead], answer.text).toEqual([
        200,
        undefined,
      ]);
      const absent = comparable(await ask({ repo: newName() }));
      expect(comparable(await ask())).toEqual(absent);
      await makePublic(40_000);
      expectStatus(await api().manage('DELETE', `/v1/tenants/${place.tenant}/repos/game`), 202);
      expect(comparable(await ask())).toEqual(absent);
      expectProblem(await change({ publicRead: { monthlyLimitBytes: 1 } }), 409);
    });
  });
}
