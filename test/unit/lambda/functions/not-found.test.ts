import { describe, expect, it } from 'vitest';
import { lfsMediaType } from '../../../../lambda/frame/api/http.ts';
import { create } from '../../../../lambda/frame/service/not-found.ts';
import * as unmatched from '../../../../lambda/lists/unmatched.ts';
import { routeKeys, routes } from '../../../../lambda/routes.ts';
import { httpEvent, noContext } from '../../../support/http-event.ts';

const lfsRoute = '/{tenant}/{repo}/info/lfs';

/** What a client adds to `lfs.url`, by route. */
const endpoints = routes
  .filter(({ path }) => path.startsWith(`${lfsRoute}/`))
  .map(({ method, path }) => [method, path.slice(lfsRoute.length).replaceAll(/\{\w+\}/g, 'x1')] as const);

/** A path of `lfs.url`, and the right one. undefined: nothing tells which it is. */
const addresses: readonly (readonly [wrong: string, right: string | undefined])[] = [
  ['/acme/game', '/acme/game/info/lfs'],
  ['/acme/game.git', '/acme/game.git/info/lfs'],
  ['/acme//game/info/lfs', '/acme/game/info/lfs'],
  ['//acme/game/info/lfs', '/acme/game/info/lfs'],
  ['/acme/game/info/lfs/', '/acme/game/info/lfs'],
  ['/acme/game/info//lfs', '/acme/game/info/lfs'],
  ['/acme/game/lfs', '/acme/game/info/lfs'],
  ['/acme/game/info', '/acme/game/info/lfs'],
  ['/acme/game/info/lfs/info/lfs', '/acme/game/info/lfs'],
  ['/acme/game/info/lfs/objects', '/acme/game/info/lfs'],
  ['/acme/lfs', '/acme/lfs/info/lfs'],
  ['/acme/team/game.git/info/lfs', '/acme/game.git/info/lfs'],
  ['/acme/a/b/c', '/acme/c/info/lfs'],
  ['/Acme/game', '/acme/game/info/lfs'],
  ['/acme', undefined],
  ['/acme/info/lfs', undefined],
  ['/acme/.hidden', undefined],
  ['', undefined],
];

const cases = endpoints.flatMap(([method, end]) =>
  addresses.map(([wrong, right]) => ({ method, end, wrong, right })),
);

async function ask(method: string, path: string) {
  const {
    statusCode,
    headers,
    body = '',
  } = await create(routeKeys, unmatched)(httpEvent({ method, path }), noContext);
  return { statusCode, type: headers?.['content-type'], body: JSON.parse(body) as Record<string, string> };
}

describe('a wrong lfs.url', () => {
  it.each(cases)('$method $wrong$end is answered with $right', async ({ method, end, wrong, right }) => {
    const { statusCode, type, body } = await ask(method, wrong + end);
    expect([statusCode, type]).toEqual([404, lfsMediaType]);
    const to = right === undefined ? 'one such as …/acme/game/info/lfs' : `…${right}`;
    expect(body['message']).toBe(
      `lfs.url must end with a tenant, a repo and /info/lfs. Change it from …${wrong} to ${to}`,
    );
  });

  it.each([
    ['/acme/game.git/info/lfs', '/acme/game.git'],
    ['/acme/game/info/lfs/', '/acme/game'],
    ['/acme/game/info/lfs/objects', '/acme/game'],
    ['/acme/team/game/info/lfs/nothing', '/acme/game'],
    ['/x/info/lfs/nothing', '/acme/game'],
  ])('without an endpoint is named, too: %s', async (path, repo) => {
    const { statusCode, type, body } = await ask('GET', path);
    expect([statusCode, type]).toEqual([404, lfsMediaType]);
    expect(body['message']).toBe(
      `Not an LFS endpoint: ${path}. Set lfs.url to a URL such as …${repo}/info/lfs`,
    );
  });

  it('is shown without characters that hide others, and cut', async () => {
    const { body } = await ask('GET', `/acme/${'x'.repeat(5000)}\u202e/info/lfs/nothing`);
    expect(body['message']?.length).toBeLessThan(300);
    expect((await ask('POST', '/acme/a\u0007\u202eb/locks')).body['message']).toContain('…/acme/ab to');
  });

  it.each([
    ['/v1/locks'],
    ['/v1/tenants/acme/locks/verify'],
    ['/health/verify'],
    ['/assets/objects/batch'],
    ['/-x/game/locks'],
    ['/nowhere'],
  ])('is none: %s', async (path) => {
    const { statusCode, type } = await ask('POST', path);
    expect([statusCode, type]).toEqual([404, 'application/problem+json']);
  });
});
