import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Api, jsonOf } from './api.ts';
import { expectProblem } from './errors.ts';
import { type LfsObject, objectOf, type Place, push } from './lfs.ts';

const jobShape = z.object({
  exportId: z.string(),
  state: z.string(),
  failure: z.object({ message: z.string() }).nullable(),
  progress: z.object({ share: z.number().nullable(), unitsDone: z.number(), units: z.number() }),
  plan: z.object({ objectCount: z.number(), archiveBytes: z.number(), copiedBytes: z.number() }).nullable(),
  explained: z.object({ ways: z.array(z.object({ way: z.string() })), text: z.string() }).nullable(),
  archives: z.array(z.object({ name: z.string(), sizeBytes: z.number(), url: z.string().nullable() })),
});

type Job = z.output<typeof jobShape>;

const mebibyte = 1024 ** 2;
const waitMs = 120_000;
const open: readonly string[] = ['planning', 'hashing', 'copying'];

/** The files of a tar, by name → SHA-256. */
export function filesOfTar(tar: Buffer): Record<string, string> {
  const text = (at: number, length: number) => tar.toString('latin1', at, at + length).replace(/\0.*$/s, '');
  const files: Record<string, string> = {};
  for (let at = 0; at < tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    files[text(at, 100)] = hash('sha256', tar.subarray(at + 512, at + 512 + size), 'hex');
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** The files of a zip that its directory names, by name → SHA-256. */
function filesOfZip(zip: Buffer): Record<string, string> {
  const files: Record<string, string> = {};
  for (let at = zip.readUInt32LE(zip.length - 22 + 16); zip.readUInt32LE(at) === 0x02014b50; ) {
    const [nameLength, head] = [zip.readUInt16LE(at + 28), zip.readUInt32LE(at + 42)];
    const start = head + 30 + zip.readUInt16LE(head + 26) + zip.readUInt16LE(head + 28);
    const content = zip.subarray(start, start + zip.readUInt32LE(at + 24));
    files[zip.toString('utf8', at + 46, at + 46 + nameLength)] = hash('sha256', content, 'hex');
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return files;
}

/** Under which name an archive has an object. */
export const nameOf = ({ oid }: Pick<LfsObject, 'oid'>) =>
  `lfs/objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`;

/** Begins an export of a tenant. @returns it, once it has ended. */
export async function exported(api: Api, tenant: string, body: object): Promise<Job> {
  const path = `/v1/tenants/${tenant}/exports`;
  const begun = await api.manage('POST', path, body);
  expect(begun.status, begun.text).toBe(202);
  const { exportId } = jobShape.parse(jsonOf(begun));
  for (const endMs = Date.now() + waitMs; ; await sleep(250)) {
    const job = jobShape.parse(jsonOf(await api.manage('GET', `${path}/${exportId}`)));
    if (!open.includes(job.state)) return job;
    if (Date.now() > endMs) throw new Error(`The export is still ${job.state}.`);
  }
}

/** What exports make: archives that have every object, are downloaded by URL, and go when they are deleted. */
export function archiveTests(api: () => Api): void {
  let place: Place;
  let objects: readonly LfsObject[];

  beforeAll(async () => {
    place = { ...(await api().newTenant()), repo: 'game' };
    objects = [0, 1, 7, 5 * mebibyte, 5 * mebibyte + 1, 12 * mebibyte].map(objectOf);
    await push(api(), place, objects);
  }, waitMs);

  const path = (exportId = '') => `/v1/tenants/${place.tenant}/exports${exportId && `/${exportId}`}`;
  const ended = (body: object) => exported(api(), place.tenant, body);

  describe('an archive', () => {
    it.each(['tar', 'zip'] as const)(
      '%s: has every object, and is gone when it is deleted',
      { timeout: 2 * waitMs },
      async (format) => {
        const job = await ended({ repo: 'game', format });
        expect(job).toMatchObject({ state: 'done', failure: null, progress: { share: 1 } });
        expect(job.plan?.objectCount).toBe(objects.length);
        const [archive] = job.archives;
        expect(archive?.name).toBe(`${place.tenant}-game.${format}`);
        const download = await api().follow(archive?.url ?? '', { method: 'GET' });
        expect(download.status).toBe(200);
        expect(download.bytes.length).toBe(archive?.sizeBytes);
        const files = format === 'tar' ? filesOfTar(download.bytes) : filesOfZip(download.bytes);
        expect(files).toMatchObject(Object.fromEntries(objects.map((each) => [nameOf(each), each.oid])));
        expect(Object.keys(files).length).toBe(objects.length + 2);

        const deleted = await api().manage('DELETE', path(job.exportId));
        expect(deleted.status, deleted.text).toBe(200);
        const again = async () => (await api().follow(archive?.url ?? '', { method: 'GET' })).status;
        await expect.poll(again, { timeout: waitMs, interval: 500 }).toBe(404);
      },
    );

    it('of some objects has them under the names that were given', { timeout: waitMs }, async () => {
      const [, one, two] = objects;
      const wanted = [{ oid: one?.oid, name: 'a/one.bin' }, { oid: two?.oid }];
      const job = await ended({ repo: 'game', objects: wanted });
      expect(job).toMatchObject({ state: 'done', plan: { objectCount: 2 } });
      const download = await api().follow(job.archives[0]?.url ?? '', { method: 'GET' });
      const files = filesOfTar(download.bytes);
      expect(files['a/one.bin']).toBe(one?.oid);
      expect(Object.keys(files).length).toBe(4);
      await api().manage('DELETE', path(job.exportId));
    });

    it('that is only to be explained is not made', { timeout: waitMs }, async () => {
      const job = await ended({ dryRun: true });
      expect(job).toMatchObject({ state: 'explained', archives: [], plan: { objectCount: objects.length } });
      expect(job.explained?.ways.map(({ way }) => way)).toEqual(['stream', 'copy-free', 'copy-grid']);
      expect(job.explained?.text).toMatch(/through the workers/);
    });

    it('is not seen by what is counted', { timeout: waitMs }, async () => {
      const job = await ended({ repo: 'game' });
      const refreshed = await api().manage('GET', `/v1/tenants/${place.tenant}/subscription?refresh=true`);
      expect(jsonOf(refreshed)).toMatchObject({ repos: [{ repo: 'game', objectCount: objects.length }] });
      expect((await api().manage('DELETE', path(job.exportId))).status).toBe(200);
      expectProblem(await api().manage('DELETE', path('0'.repeat(24))), 404);
    });
  });
}
