import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, allPages, basic, bearer, bodyOf, expectProblem, jsonOf, pageQuery } from './api.ts';
import { batch, newOid, objectOf, type Place, push } from './lfs.ts';

const reservationPage = z.strictObject({
  reservations: z.array(
    z.strictObject({
      id: z.string().regex(/^[0-9a-f]{32}$/),
      repo: z.string(),
      state: z.enum(['pending', 'issued', 'unconfirmed']),
      objectCount: z.int().positive(),
      bytes: z.int().min(0),
      arrived: z.boolean(),
      madeBy: z.string().nullable(),
      createdAt: z.iso.datetime(),
      expiresAt: z.iso.datetime(),
      reservedUntil: z.iso.datetime(),
    }),
  ),
  nextCursor: z.string().nullable(),
});

/** What is promised to uploads under way, as it is listed. */
export function reservationTests(api: () => Api): void {
  describe('the list of reservations', () => {
    let place: Place;
    const path = (query = '') => `/v1/tenants/${place.tenant}/reservations${query && `?${query}`}`;
    const list = async (query = '', headers = bearer(api().target.adminToken)) => {
      return bodyOf(await api().as(headers, 'GET', path(query)), 200, reservationPage);
    };

    beforeAll(async () => {
      place = await api().newPlace();
      for (const [repo, sizes] of [
        ['game', [5, 7]],
        ['game.git', [11]],
        ['art', [0]],
      ] as const)
        await batch(
          api(),
          { ...place, repo },
          'upload',
          sizes.map((size) => ({ oid: newOid(), size })),
        );
    });

    it('has one for each batch that got URLs, repo by repo, with what is promised and until when', async () => {
      const { reservations, nextCursor } = await list();
      expect(nextCursor).toBeNull();
      expect(reservations.map(({ repo }) => repo)).toEqual(['art', 'game', 'game']);
      const sums = reservations.map(({ objectCount, bytes }) => [objectCount, bytes]);
      expect(sums).toEqual(
        expect.arrayContaining([
          [1, 0],
          [2, 12],
          [1, 11],
        ]),
      );
      for (const reservation of reservations) {
        expect(reservation).toMatchObject({
          state: 'issued',
          arrived: false,
          madeBy: expect.stringMatching(/^[0-9a-f]{16}$/),
        });
        const [created, expires, until] = [
          reservation.createdAt,
          reservation.expiresAt,
          reservation.reservedUntil,
        ].map((time) => Date.parse(time));
        expect(Math.abs(Number(created) - Date.now())).toBeLessThan(120_000);
        expect(expires).toBeGreaterThan(Number(created));
        expect(until).toBeGreaterThan(Number(expires));
      }
    });

    it('is shown to any token of the tenant, but whose they are only to who manages it', async () => {
      const { reservations } = await list();
      const ofNobody = reservations.map((reservation) => ({ ...reservation, madeBy: null }));
      expect((await list('', basic(place.readToken))).reservations).toEqual(ofNobody);
      // They are its own.
      expect((await list('', bearer(place.writeToken))).reservations).toEqual(reservations);
      const [other, manager] = await Promise.all(
        (['write', 'manage'] as const).map((scope) => api().newToken(place.tenant, { scope })),
      );
      expect((await list('', bearer(other?.token ?? ''))).reservations).toEqual(ofNobody);
      expect((await list('', bearer(manager?.token ?? ''))).reservations).toEqual(reservations);
    });

    it('is read in pages, each reservation once, of the tenant or of one repo', async () => {
      for (const [filter, count] of [
        ['', 3],
        ['&repo=game', 2],
        ['&repo=game.git', 2],
        ['&repo=other', 0],
      ] as const) {
        const ids = await allPages(
          1,
          (cursor) => list(pageQuery(1, cursor) + filter),
          ({ reservations }) => reservations.map(({ id }) => id),
        );
        expect(new Set(ids).size).toBe(count);
        expect(ids).toHaveLength(count);
      }
    });

    it('keeps what has arrived until its URLs are lapsed', async () => {
      const own = await api().newPlace();
      const object = objectOf(100);
      await push(api(), own, [object]);
      const answer = await api().manage('GET', `/v1/tenants/${own.tenant}/reservations`);
      const { reservations } = reservationPage.parse(jsonOf(answer));
      expect(reservations).toMatchObject([{ state: 'issued', objectCount: 1, bytes: 100 }]);
    });

    it('does not go on after what is no cursor of this list', async () => {
      const { nextCursor } = await list('limit=1&repo=game');
      const hex = (text: string) => `c${Buffer.from(text).toString('hex')}`;
      const id = '0'.repeat(32);
      const changed = [
        ...['c', hex('game'), hex(`${id}#`)],
        ...[hex(`${id}#..`), hex(`${id}#\u{10ffff}`), hex(`x${id.slice(1)}#game`), hex(`${id}#game#x`)],
        ...[hex(`${id}#${'x'.repeat(101)}`), `${nextCursor}00`, `${nextCursor}`.toUpperCase()],
      ];
      for (const cursor of changed) {
        const answer = await api().manage('GET', path(`cursor=${cursor}`));
        expectProblem(answer, 422, /^cursor: must be the nextCursor of the previous page/);
      }
    });

    it('goes on after any place in it, whatever repo that is of', async () => {
      const hex = (text: string) => `c${Buffer.from(text).toString('hex')}`;
      const cursorOf = (repo: string) => `cursor=${hex(`${'0'.repeat(32)}#${repo}`)}`;
      const countOf = async (query: string) => (await list(query)).reservations.length;
      for (const first of ['Z_.-9', 'aaa']) expect(await countOf(cursorOf(first))).toBe(3);
      for (const last of ['zzz', 'x'.repeat(100)]) expect(await countOf(cursorOf(last))).toBe(0);
      expect(await countOf(`repo=game&${cursorOf('art')}`)).toBe(2);
      expect(await countOf(`repo=art&${cursorOf('game')}`)).toBe(0);
    });

    it.each([
      ['repo=', /^repo: must be the name of a repo/],
      ['repo=..', /^repo: /],
      ['repo=a%2fb', /^repo: /],
      ['repo=%00', /^repo: /],
      ['state=late', /state/],
    ])('has no %s', async (query, says) => {
      expectProblem(await api().manage('GET', path(query)), 422, says);
    });

    it('keeps what is alive: only what is late is cancelled, by the operator', async () => {
      expect(jsonOf(await api().manage('DELETE', path('repo=game')))).toEqual({
        tenant: place.tenant,
        cancelledCount: 0,
        bytes: 0,
        hasMore: false,
      });
      expectProblem(await api().manage('DELETE', path('made-by=x')), 422, /repo, id and madeBy only/);
      for (const method of ['POST', 'PATCH'])
        expect((await api().manage(method, path())).headers['allow']).toMatch(/^(GET, DELETE|DELETE, GET)$/);
      const [first] = (await list()).reservations;
      expectProblem(await api().manage('DELETE', path().concat(`/${first?.id}`)), 404);
      expect((await list()).reservations).toHaveLength(3);
    });
  });
}
