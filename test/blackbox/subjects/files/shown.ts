import { beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { untar } from '../../../support/untar.ts';
import { type Api, allPages, bearer, bodyOf, jsonOf, pageQuery } from '../../api.ts';
import { objectOf, push, serves } from '../../lfs.ts';
import { FilesPlace, sevens } from './place.ts';

const listed = z.object({ repo: z.string(), sizeBytes: z.int() });
const objectPage = z.strictObject({
  objects: z.array(listed.extend({ oid: z.string(), storedAt: z.iso.datetime() })),
  files: z.array(listed.extend({ name: z.string(), storedAt: z.iso.datetime() })).optional(),
  others: z.array(z.unknown()),
  nextCursor: z.string().nullable(),
});
const exportShape = z.looseObject({
  exportId: z.string(),
  state: z.string(),
  named: z.boolean(),
  archives: z.array(z.object({ name: z.string(), url: z.string().nullable() })),
});

/** How the routes of others show files, in a tenant that has a repo of each kind, if there is another. */
export function shownTests(api: () => Api): void {
  const oidLike = 'b'.repeat(64);
  const files = ['a', 'a/b c.png', oidLike, 'empty', 'é#%23/ü.png'];
  let place: FilesPlace;
  /** In a repo for Git LFS. */
  const objects = serves('lfs') ? [objectOf(30)] : [];
  const oids = objects.map(({ oid }) => oid);
  const path = (below: string) => `/v1/tenants/${place.own.tenant}/${below}`;
  const onlyThese = () =>
    vi.waitFor(async () => expect((await place.usage()).fileCount).toBe(files.length), {
      timeout: 240_000,
      interval: 500,
    });

  beforeAll(async () => {
    place = await FilesPlace.of(api());
    for (const name of files) await place.store(name, sevens(name === 'empty' ? 0 : 10));
    await place.store('deleted', sevens(10));
    await place.ask('DELETE', 'files?name=deleted');
    if (objects.length > 0) await push(api(), { ...place.own, repo: 'game' }, objects);
    await onlyThese();
  });

  it('as files in the list of objects, and none that was deleted', async () => {
    for (const below of ['objects', 'objects?repo=media']) {
      const page = bodyOf(await api().manage('GET', path(below)), 200, objectPage);
      expect(page.files?.map(({ repo, name, sizeBytes }) => [repo, name, sizeBytes])).toEqual(
        files.map((name) => ['media', name, name === 'empty' ? 0 : 10]),
      );
      expect(page.objects.map(({ oid }) => oid)).toEqual(below === 'objects' ? oids : []);
      expect(page.others).toEqual([]);
    }
    const page = async (query: string) =>
      bodyOf(await api().manage('GET', path('objects') + query), 200, objectPage);
    const names = await allPages(
      2,
      (cursor) => page(`?${pageQuery(2, cursor)}`),
      (each) => [...each.objects.map(({ oid }) => oid), ...(each.files ?? []).map(({ name }) => name)],
    );
    expect(names).toEqual([...oids, ...files]);
  });

  it('not among the deletions of objects, whose pages go on after them', async () => {
    for (let index = 0; index < 5; index += 1) await place.store(`gone/#%25 ${index}é`, sevens(1));
    await place.ask('DELETE', 'files?prefix=gone');
    const shape = z.object({ deletions: z.array(z.unknown()), nextCursor: z.string().nullable() });
    const page = async (query: string) =>
      bodyOf(await api().manage('GET', path('deletions') + query), 200, shape);
    expect(
      await allPages(
        1,
        (cursor) => page(`?${pageQuery(1, cursor)}`),
        ({ deletions }) => deletions,
      ),
    ).toEqual([]);
    await onlyThese();
  });

  const exported = async (body: object) => {
    const { exportId } = bodyOf(await api().manage('POST', path('exports'), body), 202, exportShape);
    const look = async () => bodyOf(await api().manage('GET', path(`exports/${exportId}`)), 200, exportShape);
    await expect.poll(async () => (await look()).state, { timeout: 240_000 }).toBe('done');
    const { archives, named } = await look();
    const [archive] = archives;
    const answer = await api().follow(archive?.url ?? '', { method: 'GET' });
    expect(answer.status).toBe(200);
    return { named, name: archive?.name, found: untar(answer.bytes) };
  };

  it.runIf(serves('exports'))('by name in archives, of their repo or the whole tenant', async () => {
    const all = files.map((name) => `files/media/${name}`);
    const own = (found: ReadonlyMap<string, unknown>) =>
      [...found.keys()].filter((name) => !name.startsWith('lfs/export/')).sort();
    const one = await exported({ repo: 'media' });
    expect([one.name, one.named]).toEqual([`${place.own.tenant}-media-files.tar`, true]);
    expect(own(one.found)).toEqual([...all].sort());
    for (const [name, bytes] of one.found)
      if (name.startsWith('files/'))
        expect(Buffer.from(bytes)).toEqual(sevens(name.endsWith('/empty') ? 0 : 10));
    const whole = await exported({});
    const pushed = oids.map((oid) => `lfs/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`);
    expect(own(whole.found)).toEqual([...all, ...pushed].sort());
    const refused = await api().manage('POST', path('exports'), {
      repo: 'media',
      objects: [{ oid: oidLike }],
    });
    expect([refused.status, jsonOf(refused)]).toMatchObject([409, { code: 'wrong-kind' }]);
  });

  it('and not to a token for files that start with something', async () => {
    const who = bearer((await api().newToken(place.own.tenant, { scope: 'read', prefix: 'a' })).token);
    for (const below of ['objects?repo=media', 'deletions', 'repos', 'subscription', 'reservations']) {
      const { status, text } = await api().as(who, 'GET', path(below));
      expect([below, status, JSON.parse(text).code]).toEqual([below, 403, 'beyond-prefix']);
    }
  });
}
