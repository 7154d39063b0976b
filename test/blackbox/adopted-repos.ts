import { hash } from 'node:crypto';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type AdoptedRepo,
  type Answer,
  type Api,
  bearer,
  comparable,
  expectLfsError,
  expectProblem,
  expectStatus,
  jsonOf,
  newName,
  once,
  type TestTenant,
} from './api.ts';
import { ask, type LfsObject, lfsHeaders, newOid, objectOf, push } from './lfs.ts';
import type { Subject } from './subject.ts';
import * as subjects from './subjects.ts';
import { subscriptionOf } from './subscription.ts';

type Layout = AdoptedRepo['names'];

/** Where servers put an object, as docs/migrate.md says. */
const storedNames: Readonly<Record<Layout, (oid: string) => string>> = {
  oid: (oid) => oid,
  'ab/cd/rest': (oid) => `${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid.slice(4)}`,
  'ab/cd/oid': (oid) => `${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`,
};
const layouts = Object.keys(storedNames) as Layout[];

/** Folders of the bucket, as another server names them. No tenant can have the first one's name. */
const paths: Readonly<Record<Layout, string>> = {
  oid: 'Studio/',
  'ab/cd/rest': 'lfs-there/',
  'ab/cd/oid': 'there/lfs/',
};

/** Two adopted repos of each layout: one that is used, and one that is deleted. */
export function adoptedReposOf(tenant: string): readonly AdoptedRepo[] {
  return layouts.flatMap((names, index) =>
    ['used', 'doomed'].map((what) => ({
      tenant,
      repo: `${what}-${index}`,
      path: `${paths[names]}${what}/`,
      names,
    })),
  );
}

/** How long a repo that was deleted, and a reconcile, may take. */
const goneWithinMs = 240_000;
const planShape = z.object({ objectCount: z.number(), bytes: z.number() });

interface Adopted extends AdoptedRepo {
  /** What the other server has stored. */
  readonly there: readonly LfsObject[];
  /** Lies in the bucket at the repo's own path, where nobody looks. */
  readonly hidden: LfsObject;
  /** Pushed here. */
  readonly pushed: LfsObject;
}

const bytesOf = (objects: readonly LfsObject[]) => objects.reduce((sum, { size }) => sum + size, 0);
const keyOf = ({ path, names }: AdoptedRepo, { oid }: LfsObject) => path + storedNames[names](oid);
/** A file of the other server that is no object. */
const besideKey = ({ path }: AdoptedRepo) => `${path}tmp/of-another-server`;

/**
 * Repos that lie in the bucket as another server has laid them out, from before their tenant was created. In two parts, so
 * that other tests can run while a delete is awaited. Skipped on a stack that has none.
 */
export function adoptedRepoTests(api: () => Api): { served: () => void; onceDeleted: () => void } {
  let all: readonly Adopted[] = [];
  let own: TestTenant;
  const isUsed = ({ repo }: AdoptedRepo) => repo.startsWith('used');
  const canPut = () => {
    const { adoptedRepos, putObject, storedKeys } = api().target;
    return adoptedRepos && putObject && storedKeys ? { adoptedRepos, putObject, storedKeys } : undefined;
  };
  const found = (names: Layout, isOfUse: (repo: AdoptedRepo) => boolean): Adopted => {
    const repo = all.find((each) => each.names === names && isOfUse(each));
    if (!repo) throw new Error(`There is no such repo of ${names}.`);
    return repo;
  };
  const stored = async (repo: AdoptedRepo) => [...((await canPut()?.storedKeys(repo.path)) ?? [])].sort();
  const repoPath = ({ repo }: AdoptedRepo) => `/v1/tenants/${own.tenant}/repos/${repo}`;
  const skipWithout = () =>
    beforeEach(({ skip }) => skip(!canPut(), 'it has no adopted repos, or nobody reaches its store'));

  const made = once(async () => {
    const target = canPut();
    if (!target) return;
    const { adoptedRepos, putObject } = target;
    const tenant = adoptedRepos[0]?.tenant ?? '';
    all = adoptedRepos.map((repo) => ({
      ...repo,
      there: [objectOf(3000), objectOf(0), objectOf(70)],
      hidden: objectOf(11),
      pushed: objectOf(500),
    }));
    for (const repo of all) {
      for (const object of repo.there) await putObject(keyOf(repo, object), object.content);
      await putObject(`${tenant}/${repo.repo}/${repo.hidden.oid}`, repo.hidden.content);
      await putObject(besideKey(repo), Buffer.from('no object'));
    }
    expectStatus(await api().manage('POST', '/v1/tenants', { tenant, limitBytes: 1_000_000 }), 201);
    const { token: writeToken } = await api().newToken(tenant, { scope: 'write' });
    const { token: readToken } = await api().newToken(tenant, { scope: 'read' });
    own = { tenant, writeToken, readToken };
  });
  /** Before anything is pushed, or deleted. */
  const counted = once(async () => {
    await made();
    return subscriptionOf(api(), own.tenant);
  });
  const pushes = once(async () => {
    await counted();
    for (const repo of all.filter(isUsed)) await push(api(), { ...own, repo: repo.repo }, [repo.pushed]);
  });
  const deletes = once(async () => {
    await counted();
    const answers = new Map<Layout, Answer>();
    for (const repo of all.filter((each) => !isUsed(each)))
      answers.set(repo.names, await api().manage('DELETE', repoPath(repo)));
    return answers;
  });

  const served = () => {
    skipWithout();
    beforeAll(async () => {
      if (canPut()) await counted();
    });

    it('is counted as it lies: its objects, and nothing else', async () => {
      const { usage, repos } = await counted();
      const scanned = new Map(repos.map(({ repo, ...sum }) => [repo, sum]));
      expect([...scanned.keys()].sort()).toEqual(all.map(({ repo }) => repo).sort());
      for (const { repo } of all)
        expect(scanned.get(repo)).toMatchObject({ objectCount: 3, storedBytes: 3070 });
      expect(usage).toMatchObject({ objectCount: 3 * all.length, storedBytes: 3070 * all.length });
    });

    it.each(layouts)('of %s is served byte for byte, and not sent again', async (names) => {
      const repo = found(names, isUsed);
      const place = { ...own, repo: repo.repo };
      for (const object of repo.there) {
        const { actions } = await ask(api(), place, 'download', object);
        const got = await api().follow(actions?.download?.href ?? '', { method: 'GET' });
        expect([got.status, got.bytes.length, hash('sha256', got.bytes)]).toEqual([
          200,
          object.size,
          object.oid,
        ]);
        const again = await ask(api(), place, 'upload', object);
        expect([again.actions, again.error]).toEqual([undefined, undefined]);
      }
      expect((await ask(api(), place, 'download', repo.hidden)).error?.code).toBe(404);
    });

    it.each(layouts)('of %s takes a push where the other server would have put it', async (names) => {
      const repo = found(names, isUsed);
      await pushes();
      const objects = [...repo.there, repo.pushed];
      expect(await stored(repo)).toEqual(
        [...objects.map((object) => keyOf(repo, object)), besideKey(repo)].sort(),
      );
      const atItsOwn = await canPut()?.storedKeys(`${own.tenant}/${repo.repo}/`);
      expect(atItsOwn).toEqual([`${own.tenant}/${repo.repo}/${repo.hidden.oid}`]);
      const { actions } = await ask(api(), { ...own, repo: repo.repo }, 'download', repo.pushed);
      const got = await api().follow(actions?.download?.href ?? '', { method: 'GET' });
      expect(hash('sha256', got.bytes)).toBe(repo.pushed.oid);
    });

    for (const { ofAdopted } of Object.values<Subject>(subjects))
      if (ofAdopted)
        it.each(layouts)(`of %s ${ofAdopted.title}`, { timeout: 240_000 }, async (names) => {
          await pushes();
          const { repo, there, pushed } = found(names, isUsed);
          await ofAdopted.test(api(), { tenant: own.tenant, repo, objects: [...there, pushed] });
        });

    it('is not told to strangers: a verify in its path is that of any tenant', async () => {
      const verify = (tenant: string) =>
        api().send({
          method: 'POST',
          path: `/${tenant}/game/info/lfs/verify`,
          headers: { ...lfsHeaders, ...bearer(`lfsv_${newOid()}`) },
          body: JSON.stringify({ oid: newOid(), size: 1 }),
        });
      const any = await verify(newName());
      expectLfsError(any, 401);
      expect(comparable(await verify('lfs-there'))).toEqual(comparable(any));
    });

    it('lists its objects, and takes a delete of one', async () => {
      await pushes();
      const repo = found('ab/cd/rest', isUsed);
      const answer = await api().manage('GET', `/v1/tenants/${own.tenant}/objects?repo=${repo.repo}`);
      const shape = z.object({ objects: z.array(z.object({ oid: z.string(), sizeBytes: z.number() })) });
      const { objects } = shape.parse(jsonOf(answer));
      const expected = [...repo.there, repo.pushed].map(({ oid, size: sizeBytes }) => ({ oid, sizeBytes }));
      const byOid = (one: { oid: string }, other: { oid: string }) => (one.oid < other.oid ? -1 : 1);
      expect([...objects].sort(byOid)).toMatchObject(expected.sort(byOid));
      const [object] = repo.there;
      const deleted = await api().manage('DELETE', `${repoPath(repo)}/objects/${object?.oid}`);
      expect([deleted.status, deleted.text]).toEqual([202, expect.stringContaining('"bytes":3000')]);
      const hidden = await api().manage('DELETE', `${repoPath(repo)}/objects/${repo.hidden.oid}`);
      expectProblem(hidden, 404);
    });

    it('keeps its tenant from being deleted, and the name of its path from being taken', async () => {
      expectProblem(await api().manage('DELETE', `/v1/tenants/${own.tenant}`), 409, /adopted/);
      const taken = await api().manage('POST', '/v1/tenants', { tenant: 'there' });
      expectProblem(taken, 409);
      expect(jsonOf(taken)).toMatchObject({ code: 'tenant-name-reserved' });
    });

    it.each(layouts)('of %s is deleted with what is its own', async (names) => {
      const deleted = (await deletes()).get(names);
      if (!deleted) throw new Error(`There is no such repo of ${names}.`);
      expect(deleted.status, deleted.text).toBe(202);
      expect(planShape.parse(jsonOf(deleted))).toMatchObject({ objectCount: 3, bytes: 3070 });
    });
  };

  const onceDeleted = () => {
    skipWithout();

    it.each(layouts)(
      'of %s is gone from the bucket, but for what is none of its objects',
      {
        timeout: goneWithinMs + 10_000,
      },
      async (names) => {
        await deletes();
        const repo = found(names, (each) => !isUsed(each));
        const isGone = async () => (await stored(repo)).length === 1;
        await expect.poll(isGone, { timeout: goneWithinMs, interval: 500 }).toBe(true);
        expect(await stored(repo)).toEqual([besideKey(repo)]);
        const atItsOwn = await canPut()?.storedKeys(`${own.tenant}/${repo.repo}/`);
        expect(atItsOwn).toEqual([`${own.tenant}/${repo.repo}/${repo.hidden.oid}`]);
      },
    );

    it('is counted without what was deleted, and with what was pushed', {
      timeout: goneWithinMs + 10_000,
    }, async () => {
      await pushes();
      await deletes();
      const used = all.filter(isUsed);
      const expected = {
        objectCount: used.length * 4,
        storedBytes: used.reduce((sum, { there, pushed }) => sum + bytesOf([...there, pushed]), 0),
      };
      const usage = async () => (await subscriptionOf(api(), own.tenant)).usage;
      await expect.poll(usage, { timeout: goneWithinMs, interval: 500 }).toMatchObject(expected);
    });
  };

  return { served, onceDeleted };
}
