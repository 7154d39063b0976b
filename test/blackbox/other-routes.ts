import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { routes } from '../../lambda/routes.ts';
import { type Api, basic, bearer, jsonOf } from './api.ts';
import { expectLfsError, expectProblem } from './errors.ts';
import { lfsHeaders } from './lfs.ts';

/** Routes that are always there, and those that are not. */
export function otherRouteTests(api: () => Api): void {
  describe('a route', () => {
    it('to the health of the API is open to all', async () => {
      for (const headers of [{}, bearer('nobody')]) {
        const answer = await api().send({ method: 'GET', path: '/health', headers });
        expect([answer.status, jsonOf(answer)]).toEqual([200, { status: 'ok' }]);
      }
    });

    it('of LFS that is none is a 404', async () => {
      for (const rest of ['lockers', 'objects', 'locksmith/verify', 'locks/verify/unlock/x']) {
        const path = `/acme/game.git/info/lfs/${rest}`;
        expectLfsError(
          await api().send({ method: 'GET', path, headers: lfsHeaders }),
          404,
          /no such LFS endpoint/,
        );
      }
    });

    it.each(['objects/batch', 'locks', 'locks/verify', 'locks/1/unlock'])(
      'of LFS without /info/lfs says how lfs.url must end: %s',
      async (rest) => {
        const path = `/acme/game.git/${rest}`;
        const message = /lfs\.url must end with \/info\/lfs.*to …\/acme\/game\.git\/info\/lfs$/;
        expectLfsError(await api().send({ method: 'POST', path, headers: lfsHeaders }), 404, message);
        expectProblem(await api().send({ method: 'POST', path: `/Acme/game/${rest}` }), 404, /no such route/);
      },
    );

    it('that is none is a 404 with a problem in words', async () => {
      const headers = bearer(api().target.adminToken);
      for (const [method, path] of [
        ['GET', '/nowhere'],
        ['GET', '/assets'],
        ['GET', '/health/'],
        ['GET', '/v1'],
        ['GET', '/v1/tenants/'],
        ['GET', '/v1/tenants/acme/nothing'],
        ['GET', '/.git/config'],
      ] as const) {
        expectProblem(await api().send({ method, path, headers }), 404, /no such route/);
      }
    });

    it('answers another method with a 405 that names its own', async () => {
      const headers = bearer(api().target.adminToken);
      for (const [method, path, allow] of [
        ['POST', '/openapi.json', 'GET'],
        ['POST', '/', 'GET'],
        ['PUT', '/v1/session', 'GET, POST, DELETE'],
        ['PUT', '/v1/tenants', 'GET, POST'],
        ['DELETE', '/v1/tenants', 'GET, POST'],
        ['PUT', '/v1/tenants/acme', 'GET, PATCH, DELETE'],
        ['POST', '/v1/tenants/acme/subscription', 'GET'],
        ['PUT', '/v1/tenants/acme/reservations', 'GET, DELETE'],
        ['GET', '/v1/tenants/acme/reconcile', 'POST'],
      ] as const) {
        const answer = await api().send({ method, path, headers });
        expectProblem(answer, 405);
        expect(answer.headers['allow']).toBe(allow);
      }
    });

    it('of the LFS API is of one method', async () => {
      const { tenant, writeToken } = await api().newTenant();
      const headers = { ...lfsHeaders, ...basic(writeToken) };
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
        for (const route of ['objects/batch', 'verify']) {
          const path = `/${tenant}/game/info/lfs/${route}`;
          const answer = await api().send({ method, path, headers });
          expectLfsError(answer, 405);
          expect(answer.headers['allow']).toBe('POST');
        }
        const locks = await api().send({ method, path: `/${tenant}/game/info/lfs/locks/verify`, headers });
        expectLfsError(locks, 405);
        const path = `/${tenant}/game/info/lfs/nothing`;
        expectLfsError(await api().send({ method, path, headers }), 404);
      }
    });

    it('to the description of the API names each route and this server', async () => {
      const answer = await api().send({ method: 'GET', path: '/openapi.json' });
      expect(answer.status).toBe(200);
      const document = z
        .object({
          openapi: z.literal('3.1.0'),
          servers: z.array(z.object({ url: z.string() })),
          paths: z.record(z.string(), z.record(z.string(), z.unknown())),
        })
        .parse(jsonOf(answer));
      expect(document.servers).toEqual([{ url: api().target.url }]);
      const described = Object.entries(document.paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      );
      expect(described.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
    });
  });
}
