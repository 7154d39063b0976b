import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, basic, type TestTenant } from './api.ts';
import { expectLfsError } from './errors.ts';
import { admitted, ask, lfsHeaders, newOid, objectOf, objectsIn, push } from './lfs.ts';

const noRepo = [
  ...['.git', '..git', '.', '..', '%2e', '%2e%2e', '%2E%2E', '%2e%2e%2f%2e%2e', 'a%2fb', 'a%2Fb', 'a%5cb'],
  ...[
    '-a',
    '_a',
    '.a',
    'a.',
    'a..git',
    'a.git.git',
    'a.GIT',
    'a.Git.git',
    'a%20b',
    '%20',
    'a%00',
    '%0a',
    'a%0a',
    'a%3fb',
    'a%23b',
    '%c3%a4',
  ],
  ...['a:b', 'a@b', 'a~b', 'a+b', '%252e%252e', 'x'.repeat(101), 'x'.repeat(3000)],
];

const noTenant = [
  ...['UPPER', 'Upper', '-a', 'a-', 'a.b', 'a_b', '.', '..', '%2e%2e', 'a%2fb', 'a%00', 'a%0a', '%c3%a4'],
  ...['v1', 'health', 'assets', 'x'.repeat(41), 'x'.repeat(3000)],
];

/** Names in paths, as they should be and as they should not. */
export function pathTests(api: () => Api): void {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = await api().newTenant();
  });
  const body = () => JSON.stringify({ operation: 'download', objects: [{ oid: newOid(), size: 1 }] });
  const post = (path: string) => {
    const headers = { ...lfsHeaders, ...basic(tenant.writeToken) };
    return api().send({ method: 'POST', path, headers, body: body() });
  };

  describe('a path', () => {
    it('without the name of a repo is not found', async () => {
      for (const repo of noRepo) {
        for (const route of ['objects/batch', 'verify']) {
          const answer = await post(`/${tenant.tenant}/${repo}/info/lfs/${route}`);
          expectLfsError(answer, 404, /^Repository not found/);
        }
      }
    });

    it('without the name of a tenant is not found', async () => {
      for (const name of noTenant) {
        const answer = await post(`/${name}/game/info/lfs/objects/batch`);
        expectLfsError(answer, 404, /^Repository not found/);
      }
    });

    it('that climbs, has a part too many, or one too few, is no route', async () => {
      const own = tenant.tenant;
      const paths = [
        ...[`/${own}/a/b/info/lfs/objects/batch`, `/${own}/info/lfs/objects/batch`],
        ...[`/${own}/game/../../v1/info/lfs/objects/batch`, `//game/info/lfs/objects/batch`],
        ...[`/${own}//info/lfs/objects/batch`, `/${own}/game/info/lfs/objects/batch/`],
        ...[`/${own}/game/info/lfs/objects/batch/x`, `/${own}/game/info%2flfs/objects/batch`],
      ];
      for (const path of paths) expect((await post(path)).status, path).toBe(404);
    });

    it.each(['a', 'Game', 'a.b', 'a_b', 'a-', '0', 'x'.repeat(100), 'git', 'a%2eb', '%61'])(
      'may name the repo %s',
      async (repo) => {
        objectsIn(await post(`/${tenant.tenant}/${repo}/info/lfs/objects/batch`));
        objectsIn(await post(`/${tenant.tenant}/${repo}.git/info/lfs/objects/batch`));
      },
    );

    it('means one repo with and without .git, and another in another case', async () => {
      const object = objectOf(10);
      await push(api(), { ...tenant, repo: 'game.git' }, [object]);
      for (const [repo, isThere] of [
        ['game', true],
        ['game.git', true],
        ['Game', false],
        ['game2', false],
        ['gam', false],
      ] as const) {
        const { actions } = await ask(api(), { ...tenant, repo }, 'download', object);
        expect(actions?.download !== undefined, repo).toBe(isThere);
      }
    });

    it('of a verify link is that of the repo', async () => {
      for (const repo of ['Game.git', 'Game']) {
        const { verify } = await admitted(api(), { ...tenant, repo }, objectOf(5));
        expect(verify.href).toBe(`${api().target.url}/${tenant.tenant}/Game.git/info/lfs/verify`);
      }
    });

    it('that can not be decoded is refused', async () => {
      for (const repo of ['%', '%zz', '%ff', '%c3%28']) {
        const answer = await post(`/${tenant.tenant}/${repo}/info/lfs/objects/batch`);
        expect([400, 404], repo).toContain(answer.status);
      }
    });
  });
}
