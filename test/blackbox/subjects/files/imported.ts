import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, basic, bearer, bodyOf, expectStatus, jsonOf } from '../../api.ts';
import { batchPath, lfsHeaders, newOid, objectOf, push, serves } from '../../lfs.ts';
import { FilesPlace, sevens } from './place.ts';

const filesShape = z.object({ files: z.array(z.object({ name: z.string(), bytes: z.int() })) });
const downloadsShape = z.object({ downloads: z.array(z.object({ url: z.url() })) });

/** What was put into the bucket by others, and found there by a scan, becomes a repo of files. */
export function importTests(api: () => Api): void {
  const create = (place: FilesPlace) =>
    api().manage('POST', `/v1/tenants/${place.own.tenant}/repos`, { repo: place.repo, kind: 'files' });
  const isFound = (place: FilesPlace, objectCount: number) =>
    expect
      .poll(async () => (await place.counted())?.objectCount, { timeout: 240_000, interval: 500 })
      .toBe(objectCount);

  describe('what a scan found', () => {
    const sizes = { 'a/b c.png': 300, 'a/2': 20, [newOid()]: 7, empty: 0, ü: 4000 };
    const names = Object.keys(sizes).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

    it('is counted, listed, downloaded and deleted once its repo is created', async ({ skip }) => {
      const { putObject } = api().target;
      if (!putObject) return skip('nothing can be put into the store');
      const place = new FilesPlace(api(), await api().newTenant({ limitBytes: 5000 }));
      const path = `${place.own.tenant}/${place.repo}`;
      for (const [name, bytes] of Object.entries(sizes)) await putObject(`${path}/${name}`, sevens(bytes));
      expectStatus(await api().manage('POST', `/v1/tenants/${place.own.tenant}/reconcile`), 202);
      await isFound(place, names.length);
      expectStatus(await create(place), 201);
      expectStatus(await create(place), 409);

      expect(await place.atRest()).toBe(4327);
      const listed = bodyOf(await place.ask('GET', 'files'), 200, filesShape);
      expect(listed.files.map(({ name, bytes }) => [name, bytes])).toEqual(
        names.map((name) => [name, sizes[name]]),
      );
      const who = bearer(place.own.readToken);
      const asked = await place.ask('POST', 'downloads', { body: { files: [{ name: 'a/b c.png' }] }, who });
      const [download] = bodyOf(asked, 200, downloadsShape).downloads;
      expect((await api().follow(download?.url ?? '', { method: 'GET' })).bytes).toEqual(sevens(300));
      const taken = await place.one({ name: 'a/2', bytes: 20 });
      expect(taken).toEqual({ name: 'a/2', state: 'name-taken', storedBytes: 20 });
      expect(await place.one({ name: 'b', bytes: 674 })).toMatchObject({
        state: 'over-limit',
        shortBytes: 1,
      });
      await place.store('c', sevens(673));
      expectStatus(await place.ask('DELETE', `files?name=${encodeURIComponent('ü')}`), 202);
      await isFound(place, names.length);
      await place.store('d', sevens(4000));
      expect(await place.atRest()).toBe(5000);
      expect(await place.usage()).toMatchObject({ fileCount: 6 });
    });

    it.runIf(serves('lfs'))('stays of Git LFS where somebody pushed', async () => {
      const place = new FilesPlace(api(), await api().newTenant());
      await push(api(), { ...place.own, repo: place.repo }, [objectOf(10)]);
      await isFound(place, 1);
      expect(jsonOf(await create(place))).toMatchObject({ status: 409, code: 'repo-exists' });
      const { oid, size } = objectOf(11);
      const answer = await api().send({
        method: 'POST',
        path: batchPath({ ...place.own, repo: place.repo }),
        headers: { ...lfsHeaders, ...basic(place.own.writeToken) },
        body: JSON.stringify({ operation: 'upload', objects: [{ oid, size }] }),
      });
      expectStatus(answer, 200);
    });
  });
}
